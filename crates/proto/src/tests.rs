//! Descriptors from files, sets and a scripted server; messages from JSON.

use std::path::PathBuf;

use base64::Engine as _;
use prost::Message as _;
use prost_reflect::prost_types::FileDescriptorSet;
use tare_record::grpc_schema::MethodName;
use tare_record::load::CallKind;

use crate::{ProtoError, ServiceDescriptors};

const ECHO: &str = r#"
syntax = "proto3";
package test;
import "kinds/kind.proto";
import "google/protobuf/duration.proto";
message Ask { string text = 1; int64 number = 2; Kind kind = 3; bytes raw = 4; google.protobuf.Duration wait = 5; }
message Told { string text = 1; }
service Echo {
  rpc Say(Ask) returns (Told);
  rpc Push(stream Ask) returns (Told);
  rpc Pull(Ask) returns (stream Told);
  rpc Chat(stream Ask) returns (stream Told);
}
"#;
const KIND: &str = r#"
syntax = "proto3";
package test;
enum Kind { NONE = 0; SOME = 1; }
"#;

/// The two files in a folder; the folder, and the path of the first.
fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("kinds")).unwrap();
    std::fs::write(folder.path().join("kinds/kind.proto"), KIND).unwrap();
    let echo = folder.path().join("echo.proto");
    std::fs::write(&echo, ECHO).unwrap();
    (folder, echo)
}

fn described() -> ServiceDescriptors {
    let (_folder, echo) = written();
    ServiceDescriptors::from_files(&[echo], &[]).unwrap()
}

fn name(text: &str) -> MethodName {
    text.parse().unwrap()
}

/// The same descriptors as a set.
fn set(descriptions: &ServiceDescriptors) -> FileDescriptorSet {
    let files = descriptions.pool.file_descriptor_protos();
    FileDescriptorSet {
        file: files.cloned().collect(),
    }
}

#[test]
fn the_kind_of_a_call_is_that_of_its_description() {
    let descriptions = described();
    let kind = |method: &str| descriptions.method(&name(method)).unwrap().kind();
    assert_eq!(kind("test.Echo/Say"), CallKind::Unary);
    assert_eq!(kind("/test.Echo/Push"), CallKind::ClientStreaming);
    assert_eq!(kind("test.Echo.Pull"), CallKind::ServerStreaming);
    assert_eq!(kind("test.Echo/Chat"), CallKind::Bidirectional);
    for wrong in ["", "Say", "test.Echo/", "/", "a b/c"] {
        assert!(wrong.parse::<MethodName>().is_err(), "{wrong:?}");
    }
}

#[test]
fn json_becomes_the_bytes_that_a_compiled_client_would_send() {
    let descriptions = described();
    let say = descriptions.method(&name("test.Echo/Say")).unwrap();
    // Encoded by hand, not by the library under test.
    let text = say
        .encode(r#"{"text": "hi", "number": "-1", "kind": "SOME", "raw": "AAE=", "wait": "1.5s"}"#);
    let mut expected = b"\x0a\x02hi\x10".to_vec();
    expected.extend([0xff; 9]);
    expected.extend(b"\x01\x18\x01\x22\x02\x00\x01\x2a\x08\x08\x01\x10\x80\xca\xb5\xee\x01");
    assert_eq!(text.unwrap(), [expected]);
    assert_eq!(say.encode("{}").unwrap(), [b""]);
    assert_eq!(say.encode("").unwrap(), [b""]);
    assert_eq!(
        say.decode(b"\x0a\x02hi").as_deref(),
        Some(r#"{"text":"hi"}"#)
    );
    assert_eq!(say.decode(b"\x0a\x09hi"), None);
}

#[test]
fn several_messages_are_an_array_or_stand_behind_each_other() {
    let descriptions = described();
    let push = descriptions.method(&name("test.Echo/Push")).unwrap();
    let two = [b"\x0a\x01a".to_vec(), b"\x0a\x01b".to_vec()];
    assert_eq!(push.encode(r#"[{"text":"a"},{"text":"b"}]"#).unwrap(), two);
    assert_eq!(
        push.encode("{\"text\":\"a\"}\n{\"text\":\"b\"}").unwrap(),
        two
    );
}

#[test]
fn what_is_wrong_is_said_with_what_there_is() {
    let descriptions = described();
    let error = |method: &str| descriptions.method(&name(method)).unwrap_err().to_string();
    assert!(error("test.Ech/Say").contains("there are: test.Echo"));
    assert!(error("test.Echo/Shout").contains("it has: Say, Push, Pull, Chat"));
    let say = descriptions.method(&name("test.Echo/Say")).unwrap();
    let unknown = say.encode(r#"{"txt": "hi"}"#).unwrap_err().to_string();
    assert!(
        unknown.contains("txt") && unknown.contains("its fields are: text, number"),
        "{unknown}"
    );
    assert!(say.encode(r#"{"text": 1}"#).is_err());
    assert!(matches!(say.encode("{"), Err(ProtoError::Json { .. })));
    let (folder, echo) = written();
    std::fs::remove_file(folder.path().join("kinds/kind.proto")).unwrap();
    let missing = ServiceDescriptors::from_files(&[echo], &[])
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains("kind.proto") && missing.contains("--import-path"),
        "{missing}"
    );
}

#[test]
fn imports_are_looked_for_in_the_folders_named() {
    let (folder, echo) = written();
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("echo.proto");
    std::fs::rename(&echo, &moved).unwrap();
    assert!(ServiceDescriptors::from_files(std::slice::from_ref(&moved), &[]).is_err());
    let found = ServiceDescriptors::from_files(&[moved], &[folder.path().to_owned()]);
    assert!(found.unwrap().method(&name("test.Echo/Say")).is_ok());
}

#[test]
fn a_descriptor_set_says_the_same_unless_a_part_is_missing() {
    let mut whole = set(&described());
    let read = ServiceDescriptors::from_set(&whole.encode_to_vec()).unwrap();
    assert_eq!(
        read.method(&name("test.Echo/Chat")).unwrap().kind(),
        CallKind::Bidirectional
    );
    whole.file.retain(|file| !file.name().contains("kind"));
    let error = ServiceDescriptors::from_set(&whole.encode_to_vec()).unwrap_err();
    assert!(error.to_string().contains("--include_imports"), "{error}");
    assert!(ServiceDescriptors::from_set(b"rubbish").is_err());
}

/// A reflection server, encoded by hand: it returns one file at a time, and not those of Google.
fn reflect(requests: &[Vec<u8>], whole: &FileDescriptorSet) -> Vec<Vec<u8>> {
    let field = |tag: u8, bytes: &[u8]| {
        let mut coded = vec![tag << 3 | 2];
        let mut length = bytes.len();
        while length >= 0x80 {
            coded.push(length as u8 | 0x80);
            length >>= 7;
        }
        coded.push(length as u8);
        [coded.as_slice(), bytes].concat()
    };
    let answer = |request: &Vec<u8>| {
        let text = std::str::from_utf8(&request[2..]).unwrap();
        let file = |wanted: &str| {
            let found = whole.file.iter().find(|file| file.name() == wanted);
            found.filter(|_| !wanted.starts_with("google/"))
        };
        let found = match (request[0] >> 3, text) {
            (3, name) => file(name),
            (4, "test.Echo") => file("echo.proto"),
            (4, _) => None,
            (7, _) => return field(6, &field(1, &field(1, b"test.Echo"))),
            (other, _) => panic!("question {other}"),
        };
        match found {
            Some(file) => field(4, &field(1, &file.encode_to_vec())),
            None => field(7, &[&[8, 5][..], &field(2, b"not found")].concat()),
        }
    };
    requests.iter().map(answer).collect()
}

#[test]
fn a_server_describes_itself_file_by_file() {
    let whole = set(&described());
    let mut calls = 0;
    let read = ServiceDescriptors::from_server("test.Echo", &mut |requests| {
        calls += 1;
        Ok(reflect(requests, &whole))
    });
    let say = read.unwrap().method(&name("test.Echo/Say")).unwrap();
    assert_eq!(say.encode(r#"{"text":"hi"}"#).unwrap(), [b"\x0a\x02hi"]);
    assert_eq!(calls, 2, "one for the service, one for all that it imports");
}

#[test]
fn a_server_that_does_not_describe_is_told_by_what_it_has_or_says() {
    let whole = set(&described());
    let unknown =
        ServiceDescriptors::from_server("test.Ech", &mut |asked| Ok(reflect(asked, &whole)));
    let unknown = unknown.unwrap_err().to_string();
    assert!(unknown.contains("there are: test.Echo"), "{unknown}");
    let silent = ServiceDescriptors::from_server("test.Echo", &mut |_| Err("no route".into()));
    assert!(silent.unwrap_err().to_string().contains("no route"));
    let fewer = ServiceDescriptors::from_server("test.Echo", &mut |_| Ok(Vec::new()));
    assert!(
        fewer
            .unwrap_err()
            .to_string()
            .contains("0 answers to 1 questions")
    );
    let rubbish = ServiceDescriptors::from_server("test.Echo", &mut |_| Ok(vec![vec![0xff; 4]]));
    assert!(matches!(rubbish, Err(ProtoError::Query(_))));
    // Every file imports another one, without end: the calls must end all the same.
    let mut number = 0;
    let endless = ServiceDescriptors::from_server("test.Echo", &mut |requests| {
        number += 1;
        let file = format!("\x0a\x04f{number:03}\x1a\x04f{:03}", number + 1);
        let nested = [&[10, file.len() as u8][..], file.as_bytes()].concat();
        let told = [&[34, nested.len() as u8][..], &nested].concat();
        Ok(vec![told; requests.len()])
    });
    assert!(endless.is_err());
    assert!((10..200).contains(&number), "{number} calls");
}

#[test]
fn files_of_an_unknown_syntax_are_refused_by_name() {
    let refusal = |syntax: &str| {
        let file = prost_reflect::prost_types::FileDescriptorProto {
            name: Some("new.proto".into()),
            syntax: Some(syntax.into()),
            ..Default::default()
        };
        let set = FileDescriptorSet { file: vec![file] };
        let refused = ServiceDescriptors::from_set(&set.encode_to_vec());
        refused.unwrap_err().to_string()
    };
    let expected =
        "new.proto is written in edition 0; proto2, proto3 and edition 2023 are understood";
    assert_eq!(refusal("editions"), expected);
    // Empty is not missing.
    assert!(refusal("").contains("new.proto"));
}

const OF_2023: &str = r#"
// A comment, then the edition.
edition = "2023";
package test;
option features.utf8_validation = NONE;
message Ask {
  string text = 1;
  int32 number = 2 [features.field_presence = IMPLICIT, deprecated = true];
  repeated int32 packed = 3;
  repeated int32 single = 4 [features.repeated_field_encoding = EXPANDED];
  Told told = 5 [features.message_encoding = DELIMITED];
  map<string, Told> by_name = 6;
  Kind kind = 7;
}
message Told { string text = 1 [features = { field_presence: LEGACY_REQUIRED }]; }
enum Kind { option features.enum_type = CLOSED; SOME = 1; }
service Echo { rpc Say(Ask) returns (Told); }
"#;

/// A message of that file, as `protoc --encode=test.Ask` writes it.
const ENCODED: &[u8] = &[
    0x0a, 1, b'a', 0x10, 5, 0x1a, 2, 1, 2, 0x20, 3, 0x20, 4, 0x2b, 0x0a, 1, b'b', 0x2c, 0x32, 8,
    0x0a, 1, b'k', 0x12, 3, 0x0a, 1, b'c', 0x38, 1,
];
const IN_JSON: &str = r#"{"text": "a", "number": 5, "packed": [1, 2], "single": [3, 4], "told": {"text": "b"},
    "byName": {"k": {"text": "c"}}, "kind": "SOME"}"#;

#[test]
fn a_file_of_edition_2023_is_understood() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ask.proto");
    std::fs::write(&path, OF_2023).unwrap();
    let described = ServiceDescriptors::from_files(std::slice::from_ref(&path), &[]).unwrap();
    let method = described.method(&name("test.Echo/Say")).unwrap();
    assert_eq!(method.encode(IN_JSON).unwrap(), [ENCODED]);
    std::fs::write(&path, OF_2023.replace("2023", "2024")).unwrap();
    let refused = ServiceDescriptors::from_files(&[path], &[]).unwrap_err();
    let refused = refused.to_string();
    assert!(!refused.contains("--import-path"), "{refused}");
}

/// `protoc --descriptor_set_out` (35.1) of the file above.
const SET_OF_2023: &str = "CrgDCglhc2sucHJvdG8SBHRlc3QirwIKA0FzaxISCgR0ZXh0GAEgASgJUgR0ZXh0Eh8KBm51bWJlchgCIAEoBUIHGAGqAQIIAlIG\
    bnVtYmVyEhYKBnBhY2tlZBgDIAMoBVIGcGFja2VkEh0KBnNpbmdsZRgEIAMoBUIFqgECGAJSBnNpbmdsZRIlCgR0b2xkGAUgASgL\
    MgoudGVzdC5Ub2xkQgWqAQIoAlIEdG9sZBIuCgdieV9uYW1lGAYgAygLMhUudGVzdC5Bc2suQnlOYW1lRW50cnlSBmJ5TmFtZRIe\
    CgRraW5kGAcgASgOMgoudGVzdC5LaW5kUgRraW5kGkUKC0J5TmFtZUVudHJ5EhAKA2tleRgBIAEoCVIDa2V5EiAKBXZhbHVlGAIg\
    ASgLMgoudGVzdC5Ub2xkUgV2YWx1ZToCOAEiIQoEVG9sZBIZCgR0ZXh0GAEgASgJQgWqAQIIA1IEdGV4dCoWCgRLaW5kEggKBFNP\
    TUUQARoEOgIQAjIkCgRFY2hvEhwKA1NheRIJLnRlc3QuQXNrGgoudGVzdC5Ub2xkQgWSAwIgA2IIZWRpdGlvbnNw6Ac=";

#[test]
fn a_descriptor_set_of_edition_2023_is_understood_and_one_of_another_is_refused_by_name() {
    let set = base64::engine::general_purpose::STANDARD
        .decode(SET_OF_2023)
        .unwrap();
    let described = ServiceDescriptors::from_set(&set).unwrap();
    let method = described.method(&name("test.Echo/Say")).unwrap();
    assert_eq!(method.encode(IN_JSON).unwrap(), [ENCODED]);
    let mut newer = set;
    let last = newer.len() - 2;
    assert_eq!(newer[last..], [0xe8, 0x07], "edition 1000");
    newer[last] = 0xe9;
    let refused = ServiceDescriptors::from_set(&newer)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("edition 2024;"), "{refused}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_file_and_the_hint_of_the_import_path_stands_where_it_helps() {
    let (folder, echo) = written();
    std::fs::write(&echo, format!("\u{feff}{ECHO}")).unwrap();
    let files = std::slice::from_ref(&echo);
    assert!(ServiceDescriptors::from_files(files, &[]).is_ok());
    let refusal = |text: &str| {
        std::fs::write(&echo, text).unwrap();
        let refused = ServiceDescriptors::from_files(files, &[]).unwrap_err();
        refused.to_string()
    };
    let missing = refusal("syntax = \"proto3\"; import \"nowhere.proto\";");
    assert!(missing.contains("nowhere.proto"), "{missing}");
    assert!(missing.contains("--import-path"), "{missing}");
    let wrong = refusal("syntax = \"proto3\"; mess Ask {}");
    assert!(!wrong.contains("--import-path"), "{wrong}");
    drop(folder);
}
