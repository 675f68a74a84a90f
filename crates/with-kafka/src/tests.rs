//! The whole command line: its help, its examples, what shells complete.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command, ValueHint};
use tare_cli::examples::examples;
use tare_cli::json_output::JsonOutput;

use crate::command;

/// The words of a line, as a shell splits it.
fn words(line: &str) -> Vec<String> {
    let split = format!("printf '%s\\0' {line}");
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &split]).output().unwrap();
    assert!(output.status.success(), "{line}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// The example lines in the help of every command that users see, by its words.
fn shown(command: &Command, path: &str, found: &mut BTreeMap<String, Vec<String>>) {
    let help = command.get_after_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
    let lines = help.lines().map(str::trim);
    let lines = lines.filter(|line| line.starts_with("tare"));
    found.insert(path.to_owned(), lines.map(str::to_owned).collect());
    for below in command.get_subcommands() {
        if !below.is_hide_set() {
            let path = format!("{path} {}", below.get_name());
            shown(below, path.trim(), found);
        }
    }
}

fn all_shown() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    shown(&command(), "", &mut found);
    found
}

/// The subcommands that a command line was parsed into.
fn chosen(matches: &ArgMatches) -> String {
    let mut path = String::new();
    let mut level = Some(matches);
    while let Some((name, below)) = level.and_then(ArgMatches::subcommand) {
        path = format!("{path} {name}");
        level = Some(below);
    }
    path.trim().to_owned()
}

#[test]
fn every_example_in_the_help_is_a_command_that_is_understood() {
    for (path, lines) in all_shown() {
        assert!((1..=4).contains(&lines.len()), "{path}: {lines:?}");
        for line in lines {
            let matches = command().try_get_matches_from(words(&line));
            let matches = matches.unwrap_or_else(|error| panic!("{line}\n{error}"));
            let chosen = chosen(&matches);
            assert!(chosen.starts_with(&path), "{line} is no example of {path}");
        }
    }
}

#[test]
fn a_command_of_this_program_is_described_as_tare_lists_it() {
    let (whole, listed) = (command(), tare_cli::command(&[]));
    for own in crate::OWN {
        let about = |command: &Command| {
            let found = command.find_subcommand(own.name).unwrap();
            found.get_about().unwrap().to_string()
        };
        assert_eq!(about(&whole), about(&listed));
    }
}

#[test]
fn no_example_is_of_a_command_that_does_not_exist() {
    let found = all_shown();
    let of = examples().into_keys();
    let lost: Vec<&str> = of.filter(|of| !found.contains_key(*of)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn the_json_flag_is_found_at_every_depth_and_in_words_that_cannot_be_parsed() {
    let of = |line: &str| {
        let words = line.split(' ');
        let matches = command().try_get_matches_from(words.clone());
        let parsed = matches.map(|matches| JsonOutput::of_matches(&matches)).ok();
        let found = JsonOutput::of_words(words.skip(1).map(OsString::from));
        (parsed, found)
    };
    let both = |output| (Some(output), output);
    assert_eq!(of("tare report"), both(JsonOutput::No));
    assert_eq!(of("tare report --json"), both(JsonOutput::Document));
    assert_eq!(
        of("tare kafka --json topics list"),
        both(JsonOutput::Document)
    );
    assert_eq!(of("tare targets --json"), both(JsonOutput::Document));
    let url = "http://127.0.0.1:1/";
    assert_eq!(
        of(&format!("tare load {url} --json-lines")),
        both(JsonOutput::Lines)
    );
    assert_eq!(
        of("tare report --json --nonsense"),
        (None, JsonOutput::Document)
    );
    assert_eq!(of("tare lab exec pod -- ls --json"), both(JsonOutput::No));
}

/// Every argument of a command and of those below it.
fn arguments(command: &Command) -> Vec<&Arg> {
    let own = command.get_arguments();
    let below = command.get_subcommands().flat_map(arguments);
    own.chain(below).collect()
}

#[test]
fn every_path_says_whether_it_is_a_file_or_a_folder() {
    let command = command();
    let all = arguments(&command);
    let vague: Vec<_> = all
        .iter()
        .filter(|arg| arg.get_value_hint() == ValueHint::AnyPath)
        .filter(|arg| {
            let names = arg.get_value_names().unwrap_or_default();
            names.iter().all(|name| name.as_str() != "NAME|FILE")
        })
        .collect();
    assert!(vague.is_empty(), "{vague:#?}");
    for hint in [ValueHint::FilePath, ValueHint::DirPath, ValueHint::Url] {
        let number = all.iter().filter(|arg| arg.get_value_hint() == hint);
        assert!(number.count() > 0, "{hint:?}");
    }
}

#[test]
fn a_shell_is_told_where_files_folders_and_urls_are_wanted() {
    let mut script = Vec::new();
    let shell = clap_complete::Shell::Zsh;
    clap_complete::generate(shell, &mut command(), "tare", &mut script);
    let script = String::from_utf8(script).unwrap();
    for completed in [":DIR:_files -/", ":FILE:_files", "_urls"] {
        assert!(script.contains(completed), "{completed}");
    }
}
