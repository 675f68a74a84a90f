//! Examples in the help of every command.

use std::collections::BTreeMap;

use clap::Command;

use crate::exit::Exit;

/// Commands, each as a heading, with examples of it.
const EXAMPLES: &str = include_str!("examples.txt");

/// The commands as in [`EXAMPLES`], without `tare`, with their examples.
#[must_use]
pub fn examples() -> BTreeMap<&'static str, Vec<&'static str>> {
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
    use super::*;

    #[test]
    fn the_long_help_ends_with_the_exit_codes() {
        let mut command = crate::command(&[]).term_width(200);
        let help = command.render_long_help().to_string();
        assert!(
            help.trim_end().ends_with(Exit::table().trim_end()),
            "{help}"
        );
        assert!(help.contains("Examples:\n  tare run"), "{help}");
    }
}
