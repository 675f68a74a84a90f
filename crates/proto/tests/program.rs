//! The program `tare-proto`: questions of `tare load`, of another version, and of nobody.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use tare_record::grpc_schema::{
    MethodDescription, SCHEMA_QUESTION_VERSION, SchemaQuestion, SchemaReply, SchemaSource,
};
use tare_record::load::CallKind;

const ECHO: &str = r#"syntax = "proto3";
package test;
message Ask { string text = 1; }
service Echo { rpc Push(stream Ask) returns (Ask); }
"#;

fn question(source: SchemaSource) -> SchemaQuestion {
    SchemaQuestion {
        version: SCHEMA_QUESTION_VERSION,
        method: "test.Echo/Push".parse().unwrap(),
        source,
        data: Some(r#"{"text": "a"} {"text": "b"}"#.to_owned()),
    }
}

/// Every reply to these lines; each line is written when the reply before it is there.
fn replies(lines: &[String]) -> Vec<SchemaReply> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tare-proto"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut replies = Vec::new();
    for line in lines {
        writeln!(input, "{line}").unwrap();
        let mut reply = String::new();
        output.read_line(&mut reply).unwrap();
        replies.push(serde_json::from_str(&reply).unwrap());
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    replies
}

fn error(lines: &[String]) -> String {
    match replies(lines).pop().unwrap() {
        SchemaReply::Error(error) => error,
        reply => panic!("{reply:?}"),
    }
}

#[test]
fn a_method_of_a_file_is_described_and_its_messages_are_encoded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("echo.proto");
    std::fs::write(&file, ECHO).unwrap();
    let source = SchemaSource::Files {
        files: vec![file],
        import_paths: vec![],
    };
    let asked = serde_json::to_string(&question(source)).unwrap();
    let described = MethodDescription {
        kind: CallKind::ClientStreaming,
        messages: Some(vec!["CgFh".to_owned(), "CgFi".to_owned()]),
    };
    assert_eq!(replies(&[asked]), [SchemaReply::Described(described)]);
}

#[test]
fn reflection_is_asked_of_the_one_who_asks_and_its_error_comes_back() {
    let asked = serde_json::to_string(&question(SchemaSource::Server)).unwrap();
    let answer = r#"{"Err": "it has no reflection"}"#.to_owned();
    let replies = replies(&[asked, answer]);
    assert!(
        matches!(&replies[..], [SchemaReply::Reflect(messages), SchemaReply::Error(error)]
            if messages.len() == 1 && error.contains("it has no reflection")),
        "{replies:?}"
    );
}

#[test]
fn another_version_and_a_start_by_hand_say_what_to_do() {
    let mut other = question(SchemaSource::Server);
    other.version += 1;
    let other = error(&[serde_json::to_string(&other).unwrap()]);
    assert!(other.contains("different versions"), "{other}");
    for text in ["", "{}", "rubbish"] {
        let said = error(&[text.to_owned()]);
        assert!(
            said.contains("tare load") || said.contains("different versions"),
            "{said}"
        );
    }
}
