//! `tare kafka configs`: shows configurations with their source, and changes single keys.

use std::process::ExitCode;

use tare_kafka_admin::admin::{Admin, Change, Config, ConfigSource, Mode, Resource};

use crate::exit::{Exit, bad_input};
use crate::screen::{print, say};

use super::json_schema::Configured;
use super::output;
use super::{CommonArgs, classify_admin_error};

/// Arguments of `tare kafka configs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What it belongs to.
    #[command(subcommand)]
    of: ConfigScope,
}

/// What a configuration belongs to.
#[derive(Debug, clap::Subcommand)]
enum ConfigScope {
    /// Configuration of a topic.
    Topic {
        /// Topic name.
        name: String,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Configuration of a broker.
    Broker {
        /// Broker ID.
        id: i32,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Default configuration of all brokers.
    Brokers {
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Configuration of a consumer group.
    Group {
        /// Group name.
        name: String,
        #[command(flatten)]
        change: ChangeArgs,
    },
}

/// What to change; without any, it is shown.
#[derive(Debug, clap::Args)]
pub struct ChangeArgs {
    /// Key to set, with its value; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Key to reset to its default; may be given several times.
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
    /// Value to append to a list; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    append: Vec<String>,
    /// Value to remove from a list; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    subtract: Vec<String>,
    /// Validate only; change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Show all keys, defaults included.
    #[arg(long)]
    all: bool,
}

impl ChangeArgs {
    fn changes(&self) -> anyhow::Result<Vec<Change>> {
        let mut changes = Vec::new();
        for words in &self.set {
            let (key, value) = pair(words)?;
            changes.push(Change::Set(key, value));
        }
        changes.extend(self.unset.iter().cloned().map(Change::Unset));
        for words in &self.append {
            let (key, value) = pair(words)?;
            changes.push(Change::Append(key, value));
        }
        for words in &self.subtract {
            let (key, value) = pair(words)?;
            changes.push(Change::Subtract(key, value));
        }
        Ok(changes)
    }
}

/// Runs the command.
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<ExitCode> {
    let (resource, change) = match &args.of {
        ConfigScope::Topic { name, change } => (Resource::Topic(name.clone()), change),
        ConfigScope::Broker { id, change } => (Resource::Broker(*id), change),
        ConfigScope::Brokers { change } => (Resource::Brokers, change),
        ConfigScope::Group { name, change } => (Resource::Group(name.clone()), change),
    };
    show_or_change(admin, &resource, change, common)?;
    Ok(Exit::Done.into())
}

/// Applies the changes of the arguments, if any, and prints the configuration.
pub fn show_or_change(
    admin: &mut Admin,
    resource: &Resource,
    change: &ChangeArgs,
    common: &CommonArgs,
) -> anyhow::Result<()> {
    let changes = change.changes()?;
    if !changes.is_empty() {
        let mode = match change.dry_run {
            true => Mode::Validate,
            false => Mode::Do,
        };
        admin
            .alter_configs(resource, &changes, mode)
            .map_err(classify_admin_error)?;
        if !common.json {
            let word = match mode {
                Mode::Validate => "could be changed",
                Mode::Do => "changed; every broker knows in a moment",
            };
            return print(&format!("{resource}: {word}\n"));
        }
    }
    let found = admin
        .configs(std::slice::from_ref(resource), None)
        .map_err(classify_admin_error)?;
    let shown: Vec<Configured> = found
        .into_iter()
        .map(|(resource, mut configs)| {
            configs.retain(|one| change.all || is_set(one));
            Configured { resource, configs }
        })
        .collect();
    if common.json {
        return output::json(&shown);
    }
    for one in &shown {
        if one.configs.is_empty() {
            say(format_args!(
                "nothing is set on {resource}; --all shows the defaults"
            ));
            continue;
        }
        let rows = one.configs.iter().map(|config| {
            let value = match config.is_sensitive {
                true => "(secret)".to_owned(),
                false => output::maybe(config.value.as_ref()),
            };
            vec![config.name.clone(), value, source(config.source).to_owned()]
        });
        output::table(&["key", "value", "from"], rows)?;
    }
    Ok(())
}

/// Whether the value is not the default.
fn is_set(config: &Config) -> bool {
    config.source != ConfigSource::Default
}

fn source(source: ConfigSource) -> &'static str {
    match source {
        ConfigSource::Topic => "topic",
        ConfigSource::Broker => "broker",
        ConfigSource::Brokers => "all brokers",
        ConfigSource::File => "broker's file",
        ConfigSource::Default => "default",
        ConfigSource::Group => "group",
        ConfigSource::Other => "elsewhere",
    }
}

/// Parses `key=value`.
pub fn pair(words: &str) -> anyhow::Result<(String, String)> {
    match words.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(bad_input(format!("{words:?}: write KEY=VALUE"))),
    }
}
