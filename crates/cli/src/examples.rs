//! Examples in the help of every command.

use std::collections::BTreeMap;

use clap::Command;

use crate::exit::Exit;

/// Commands, each as a heading, with examples of it.
const EXAMPLES: &str = include_str!("examples.txt");

/// The commands as in [`EXAMPLES`], without `tare`, with their examples.
fn examples() -> BTreeMap<&'static str, Vec<&'static str>> {
    let sections = EXAMPLES.split("# tare").skip(1);
    sections
        .map(|section| {
            let mut lines = section.lines();
            let path = lines.next().unwrap_or_default().trim();
            (path, lines.filter(|line| !line.is_empty()).collect())
        })
        .collect()
}

/// Adds the examples to the help of every command, and the exit codes to that of `tare` itself.
pub fn with_examples(command: Command) -> Command {
    let command = add(command, "", &examples());
    let examples = command.get_after_help().cloned().unwrap_or_default();
    command.after_long_help(format!("{examples}\n\nExit codes:\n{}", Exit::table()))
}

fn add(command: Command, path: &str, examples: &BTreeMap<&str, Vec<&str>>) -> Command {
    let command = command.mut_subcommands(|below| {
        let name = below.get_name();
        let path = match path {
            "" => name.to_owned(),
            _ => format!("{path} {name}"),
        };
        add(below, &path, examples)
    });
    match examples.get(path) {
        Some(lines) => command.after_help(format!("Examples:\n  {}", lines.join("\n  "))),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use clap::ArgMatches;

    use crate::commands::load::tests::words;

    use super::*;

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
        shown(&crate::command(), "", &mut found);
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
                let matches = crate::command().try_get_matches_from(words(&line));
                let matches = matches.unwrap_or_else(|error| panic!("{line}\n{error}"));
                let chosen = chosen(&matches);
                assert!(chosen.starts_with(&path), "{line} is no example of {path}");
            }
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
    fn the_long_help_ends_with_the_exit_codes() {
        let mut command = crate::command().term_width(200);
        let help = command.render_long_help().to_string();
        assert!(
            help.trim_end().ends_with(Exit::table().trim_end()),
            "{help}"
        );
        assert!(help.contains("Examples:\n  tare run"), "{help}");
    }
}
