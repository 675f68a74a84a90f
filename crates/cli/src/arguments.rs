//! Values of arguments that several commands share.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;

/// Where runs are.
#[derive(Debug, clap::Args)]
pub struct RunsArgs {
    /// Directory of runs.
    #[arg(
        long,
        visible_alias = "runs",
        value_name = "DIR",
        default_value = "runs"
    )]
    pub out: PathBuf,
}

/// Whether a file is standard input or standard output.
pub fn is_standard_stream(file: &Path) -> bool {
    file == Path::new("-")
}

/// A parser of the words that a type has in files, each with its help (or none).
pub fn words<T>(words: &[(&'static str, &'static str)]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    offer(words).try_map(|word| serde_json::from_value::<T>(word.into()))
}

/// A parser of words that stand for values, each with its help (or none). `word|alias` has a hidden alias.
pub fn choices<T>(
    choices: &[(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> + use<T>
where
    T: Clone + Send + Sync + 'static,
{
    let known = choices.to_vec();
    let offered: Vec<_> = known.iter().map(|(word, help, _)| (*word, *help)).collect();
    offer(&offered).try_map(move |word| {
        let mut known = known.iter();
        let is_it = |name: &str| name.eq_ignore_ascii_case(&word);
        let found = known.find(|(names, ..)| names.split('|').any(is_it));
        found.map(|(.., value)| value.clone()).ok_or("unknown")
    })
}

fn offer(words: &[(&'static str, &'static str)]) -> PossibleValuesParser {
    PossibleValuesParser::new(words.iter().map(|&(word, help)| {
        let mut names = word.split('|');
        let value = PossibleValue::new(names.next().unwrap_or_default()).aliases(names);
        match help {
            "" => value,
            _ => value.help(help),
        }
    }))
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};
    use tare_record::load::{
        Codec, Partitioner, Resumption, Sched, Spin, ThinkDistribution, TlsVersion,
    };

    /// Whether every word of an argument of `tare load` is a value of its type.
    fn all_parse<T: Clone + Send + Sync + 'static>(flag: &str) {
        let command = crate::command(&[]);
        let load = command.find_subcommand("load").unwrap();
        let mut arguments = load.get_arguments();
        let argument = arguments.find(|one| one.get_long() == Some(flag)).unwrap();
        let words = argument.get_possible_values();
        assert!(words.len() > 1, "{flag}");
        for word in words {
            let bare = Arg::new("it").value_parser(argument.get_value_parser().clone());
            let parsed = Command::new("it")
                .arg(bare)
                .try_get_matches_from(["it", word.get_name()])
                .unwrap_or_else(|error| panic!("{flag} {}: {error}", word.get_name()));
            assert!(parsed.get_one::<T>("it").is_some(), "{flag}");
        }
    }

    #[test]
    fn every_word_that_is_offered_is_one_of_its_type() {
        all_parse::<Codec>("compression");
        all_parse::<Partitioner>("partitioner");
        all_parse::<Resumption>("tls-resume");
        all_parse::<Sched>("sched");
        all_parse::<Spin>("spin");
        all_parse::<ThinkDistribution>("think-distribution");
        all_parse::<TlsVersion>("tls-min");
        all_parse::<tare_load::protocols::tcp::Direction>("throughput");
        all_parse::<String>("assignor");
    }
}
