//! Flags for the options of protocols, made from the JSON Schema of the options.

use std::collections::BTreeMap;

use clap::{Arg, ArgMatches, Command, Error, FromArgMatches, Id};
use serde_json::{Map, Value};
use tare_load::protocols::{self, Flags, Protocol};
use tare_record::protocol::LoadInfo;
use tare_record::units::{Period, Size};

use super::super::target::LoadUrl;

/// Groups of flags that are for some loads only: the names of their structs.
const GROUPS: [&str; 5] = [
    "ConsumeArgs",
    "GrpcArgs",
    "KafkaArgs",
    "MongodbArgs",
    "TcpArgs",
];

/// Options given, by protocol, and the first flag given of each of [`GROUPS`].
#[derive(Debug, Clone, Default)]
pub struct OptionArgs {
    options: BTreeMap<&'static str, Map<String, Value>>,
    first_flags: BTreeMap<&'static str, String>,
}

/// An option of a protocol.
struct OptionFlag {
    protocol: &'static str,
    key: String,
    about: String,
}

/// The options of all protocols whose options are flags.
fn flags() -> Vec<OptionFlag> {
    let with_flags = protocols::ALL
        .into_iter()
        .filter(|one| one.flags == Flags::OfOptions);
    with_flags.flat_map(flags_of).collect()
}

fn flags_of(protocol: &'static Protocol) -> Vec<OptionFlag> {
    let schema = protocols::OPTIONS.schema();
    let branches = schema["oneOf"].as_array().into_iter().flatten();
    let own = branches.filter(|branch| branch["title"] == protocol.info.name);
    let properties = own
        .filter_map(|branch| branch["properties"].as_object())
        .flatten();
    let flag = |(key, property): (&String, &Value)| OptionFlag {
        protocol: protocol.info.name,
        key: key.clone(),
        about: property["description"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    };
    properties.map(flag).collect()
}

impl OptionFlag {
    /// `--PROTOCOL-datagram-bytes` of the option `datagram_bytes`.
    fn name(&self) -> String {
        format!("{}-{}", self.protocol, self.key.replace('_', "-"))
    }

    fn value_name(&self) -> &'static str {
        match self.key.rsplit('_').next() {
            Some("bytes") => "SIZE",
            Some("ns") => "TIME",
            _ => "N",
        }
    }

    /// Sizes and times have units, as in files; everything else is as in JSON.
    fn parse(&self, text: &str) -> Result<Value, String> {
        match self.value_name() {
            "SIZE" => {
                let size = text.parse::<Size>();
                size.map(|size| size.0.into())
                    .map_err(|error| error.to_string())
            }
            "TIME" => {
                let period = text.parse::<Period>();
                period
                    .map(|period| period.as_ns().into())
                    .map_err(|error| error.to_string())
            }
            _ => Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))),
        }
    }
}

impl clap::Args for OptionArgs {
    fn augment_args(command: Command) -> Command {
        flags().into_iter().fold(command, |command, flag| {
            let heading = format!("{0} ({0}://host:port)", flag.protocol);
            let arg = Arg::new(flag.name())
                .long(flag.name())
                .value_name(flag.value_name())
                .help(flag.about.clone())
                .help_heading(heading);
            command.arg(arg)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OptionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given = Self::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for flag in flags() {
            let Some(text) = matches.get_one::<String>(&flag.name()) else {
                continue;
            };
            let value = flag.parse(text).map_err(|why| {
                let message = format!("--{} {text}: {why}\n", flag.name());
                Error::raw(clap::error::ErrorKind::ValueValidation, message)
            })?;
            let options = self.options.entry(flag.protocol).or_default();
            options.insert(flag.key, value);
        }
        for group in GROUPS {
            let mut given = matches.get_many::<Id>(group).into_iter().flatten();
            if let Some(id) = given.next() {
                let flag = format!("--{}", id.as_str().replace('_', "-"));
                self.first_flags.insert(group, flag);
            }
        }
        Ok(())
    }
}

impl OptionArgs {
    /// The first flag given that is declared in this struct of arguments.
    pub fn first_flag(&self, group: &str) -> Option<&str> {
        self.first_flags.get(group).map(String::as_str)
    }

    /// The load of the URL's protocol and the options given for it; `None` where the protocol has flags of its own.
    ///
    /// # Errors
    /// For an option of another protocol.
    pub fn of(&self, url: &LoadUrl) -> anyhow::Result<Option<(LoadInfo, Map<String, Value>)>> {
        let foreign = self.options.iter().find(|(protocol, _)| !url.is(protocol));
        if let Some((protocol, options)) = foreign {
            let key = options.keys().next().map_or("", String::as_str);
            anyhow::bail!(
                "--{protocol}-{} is for {protocol}: write {protocol}://{}",
                key.replace('_', "-"),
                url.host
            );
        }
        let protocol = protocols::find(url.protocol);
        let Some(protocol) = protocol.filter(|one| one.flags == Flags::OfOptions) else {
            return Ok(None);
        };
        let options = self.options.get(url.protocol).cloned().unwrap_or_default();
        Ok(protocol.info.load.map(|load| (load, options)))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::Cli;
    use crate::commands::Command;

    use super::*;

    #[test]
    fn the_first_flag_of_a_group_is_known_and_defaults_are_not_given() {
        let first = |flags: &[&str], group: &str| {
            let line = [&["tare", "load", "http://127.0.0.1:1/"][..], flags].concat();
            let Command::Load(args) = Cli::try_parse_from(line).unwrap().command else {
                panic!("no load");
            };
            args.options.first_flag(group).map(str::to_owned)
        };
        for group in GROUPS {
            assert_eq!(first(&[], group), None, "{group}");
        }
        let flags = ["--linger", "1ms", "--batch-size", "1kB", "--ping-pong"];
        assert_eq!(first(&flags, "KafkaArgs").as_deref(), Some("--linger"));
        assert_eq!(first(&flags, "GrpcArgs").as_deref(), Some("--ping-pong"));
        assert_eq!(
            first(&["--half-close"], "TcpArgs").as_deref(),
            Some("--half-close")
        );
        let fetch = ["--fetch-min-bytes", "1B"];
        assert_eq!(
            first(&fetch, "ConsumeArgs").as_deref(),
            Some("--fetch-min-bytes")
        );
        let documents = ["--mongodb-documents", "3"];
        assert_eq!(
            first(&documents, "MongodbArgs").as_deref(),
            Some("--mongodb-documents")
        );
    }
}
