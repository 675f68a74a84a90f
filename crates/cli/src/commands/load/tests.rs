//! Tests that the commands of docs/COMING-FROM.md are valid.

use std::path::Path;

use clap::Parser;

use super::plan::{Content, ResolvedLoad};
use super::target::LoadUrl;
use crate::Cli;
use crate::commands::Command;

/// Every `tare load` line in the shell blocks of the page.
fn commands() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/COMING-FROM.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut is_shell = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_shell = line == "```sh";
        } else if is_shell && line.starts_with("tare load ") {
            found.push(line.to_owned());
        }
    }
    found
}

/// Splits a line into words as a shell does: blanks, 'quotes' and "quotes"; the page uses nothing else.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    assert!(quote.is_none(), "an open quote in {line}");
    words.extend(word);
    words
}

#[test]
fn every_command_of_the_page_for_newcomers_is_read_and_planned() {
    let commands = commands();
    assert!(commands.len() >= 30, "{} commands", commands.len());
    for line in commands {
        let cli = Cli::try_parse_from(words(&line)).unwrap_or_else(|e| panic!("{line}\n{e}"));
        let Command::Load(args) = cli.command else {
            panic!("{line} is no load");
        };
        let content = Content::read(&args).unwrap_or_else(|e| panic!("{line}\n{e:#}"));
        let target = LoadUrl::parse(&content.url).unwrap_or_else(|e| panic!("{line}\n{e:#}"));
        // JSON messages need the server's reflection, and there is no server here.
        if args.grpc.data.is_none()
            && let Err(error) = ResolvedLoad::new(&args, &target, content)
        {
            panic!("{line}\n{error:#}");
        }
    }
}

#[test]
fn quotes_hold_words_together() {
    assert_eq!(words("a 'b c' \"\" d'e'"), ["a", "b c", "", "de"]);
}
