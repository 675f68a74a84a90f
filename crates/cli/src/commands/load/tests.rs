//! Tests that the commands of docs/COMING-FROM.md are valid, and that wrong files are told with their reason.

use std::path::Path;

use clap::Parser;
use tare_record::load::Body;

use super::plan::{Content, ResolvedLoad};
use super::target::LoadUrl;
use crate::Cli;
use crate::commands::Command;
use crate::exit::{self, bad_input};

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
        let target =
            LoadUrl::parse(&content.url, &args.network).unwrap_or_else(|e| panic!("{line}\n{e:#}"));
        // JSON messages need the server's reflection, and there is no server here.
        if args.grpc.data.is_none()
            && let Err(error) = ResolvedLoad::new(&args, &target, content)
        {
            panic!("{line}\n{error:#}");
        }
    }
}

/// What is said of these arguments: the error of the input and its causes, as text and JSON have them.
fn said(arguments: &[&str]) -> Vec<String> {
    let words = ["tare", "load"].iter().chain(arguments);
    let cli = Cli::try_parse_from(words).unwrap_or_else(|e| panic!("{arguments:?}\n{e}"));
    let Command::Load(args) = cli.command else {
        panic!("{arguments:?} is no load");
    };
    let refused = || -> anyhow::Result<()> {
        let content = Content::read(&args).map_err(bad_input)?;
        let target = LoadUrl::parse(&content.url, &args.network).map_err(bad_input)?;
        ResolvedLoad::new(&args, &target, content).map_err(bad_input)?;
        Ok(())
    };
    exit::texts(&refused().expect_err("a wrong file is refused"))
}

#[test]
fn a_wrong_file_is_told_with_its_reason_whichever_option_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let url = "http://127.0.0.1:1/";
    let two = file("two.txt", "GET http://a:1/\nGET http://b:1/\n");
    let foreign = file("foreign.txt", "POST http://a:1/\n@/etc/hostname\n");
    let null = file(
        "null.jsonl",
        r#"{"method":"GET","url":"http://a:1/","header":5}"#,
    );
    let session = file(
        "session.yaml",
        "steps:\n- {name: a, path: /, whatever: 1}\n",
    );
    let requests = file(
        "requests.yaml",
        "requests:\n- {name: a, path: /, whatever: 1}\n",
    );
    let cases: [(&[&str], &str); 5] = [
        (&["--targets", &two], "another host than http://a:1"),
        (
            &["--targets", &foreign],
            "body files are in the current folder",
        ),
        (&["--targets", &null], "invalid type: integer"),
        (&["--session", &session, url], "whatever"),
        (&["--requests", &requests, url], "whatever"),
    ];
    for (arguments, reason) in cases {
        let texts = said(arguments);
        let told = texts.join(": ");
        assert!(told.contains(reason), "{arguments:?}: {told}");
    }
    let texts = said(&["--targets", &two]);
    assert_eq!(
        texts[0], "line 2 of the targets",
        "JSON has the causes apart"
    );
    assert_eq!(texts.len(), 2);
}

#[test]
fn a_body_that_begins_with_an_at_sign_is_that_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("body");
    let body_of = |body: &str| {
        let words = ["tare", "load", "http://127.0.0.1:1/", "--body", body];
        let Command::Load(args) = Cli::try_parse_from(words).unwrap().command else {
            panic!("{body} is no load");
        };
        Content::read(&args).map(|content| content.requests[0].body.clone())
    };
    let named = format!("@{}", path.display());
    for (bytes, expected) in [
        (
            &b"hello @ all\n"[..],
            Body::Text {
                text: "hello @ all\n".into(),
            },
        ),
        (
            &b"\xff\x00"[..],
            Body::Base64 {
                base64: "/wA=".into(),
            },
        ),
    ] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(body_of(&named).unwrap(), expected);
    }
    let text = "me@home".to_owned();
    assert_eq!(body_of(&text).unwrap(), Body::Text { text });
    let missing = format!("{:#}", body_of("@/nowhere/body").unwrap_err());
    assert!(missing.contains("/nowhere/body"), "{missing}");
}

#[test]
fn quotes_hold_words_together() {
    assert_eq!(words("a 'b c' \"\" d'e'"), ["a", "b c", "", "de"]);
}
