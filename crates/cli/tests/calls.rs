//! `tare load` making gRPC calls of every kind, described by files, by a set and by the server itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::path::PathBuf;
use std::time::Duration;

use rig::calls::{Calls, PROTO, Seen};
use rig::{finish, origin, stderr, stdout, tare};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(60);

/// The description in a folder of its own.
fn described() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("echo.proto");
    std::fs::write(&file, PROTO).unwrap();
    (folder, file)
}

/// The same as the bytes of a descriptor set, which contain the file as field 1.
fn set() -> Vec<u8> {
    let (folder, file) = described();
    let mut compiler = protox::Compiler::new([folder.path()]).unwrap();
    compiler.include_imports(true).open_file(file).unwrap();
    compiler.encode_file_descriptor_set()
}

/// The file itself.
fn file() -> Vec<u8> {
    let set = set();
    // Tag and length, of one byte each or of two where the file has 128 bytes or more.
    set[if set[1] & 0x80 == 0 { 2 } else { 3 }..].to_vec()
}

/// Ten calls with these arguments; the result, or what was said instead.
fn ten(server: &Calls, more: &[&str]) -> Result<Value, String> {
    ten_at(&format!("http://{}", server.address), more)
}

fn ten_at(url: &str, more: &[&str]) -> Result<Value, String> {
    let mut load = tare(&["load", url, "--count", "10", "--connections", "2", "--json"]);
    let output = finish(load.args(more), LIMIT);
    match output.status.code() {
        Some(0) => Ok(serde_json::from_str::<Value>(&stdout(&output)).unwrap()["result"].clone()),
        _ => Err(stderr(&output)),
    }
}

fn messages(texts: &[&str]) -> Vec<Vec<u8>> {
    texts
        .iter()
        .map(|text| [&[10, text.len() as u8][..], text.as_bytes()].concat())
        .collect()
}

#[test]
fn every_kind_of_call_is_made_from_json_and_a_proto_file() {
    let server = Calls::start(None, 0);
    let (_folder, file) = described();
    let file = file.to_str().unwrap();
    let two = r#"[{"text":"a"},{"text":"bb"}]"#;
    let calls: [(&str, &str, &[&str], u64, u64); 5] = [
        ("Say", r#"{"text":"a"}"#, &[], 1, 1),
        ("Push", two, &["--messages", "5"], 5, 1),
        ("Pull", r#"{"text":"a"}"#, &["--expect-messages", "3"], 1, 3),
        ("Chat", two, &["--messages", "4", "--ping-pong"], 4, 4),
        ("Chat", two, &["--message-every", "2ms"], 2, 2),
    ];
    for (method, data, more, sent, received) in calls {
        let path = format!("test.Echo/{method}");
        let how = ["--grpc-call", &path, "--data", data, "--proto", file];
        let result = ten(&server, &[&how, more].concat()).unwrap();
        assert_eq!(result["ok"], 10, "{method}: {result}");
        let counts = &result["protocol_counts"];
        assert_eq!(counts["messages-sent"], 10 * sent, "{method}: {counts}");
        assert_eq!(
            counts["messages-received"],
            10 * received,
            "{method}: {counts}"
        );
        assert_eq!(counts["streams-opened"], 10);
    }
    let push = &server.seen("/test.Echo/Push")[0];
    assert_eq!(push.messages, messages(&["a", "bb", "a", "bb", "a"]));
}

#[test]
fn a_descriptor_set_metadata_and_a_deadline_go_into_every_call() {
    let server = Calls::start(None, 0);
    let folder = tempfile::tempdir().unwrap();
    let protoset = folder.path().join("echo.set");
    std::fs::write(&protoset, set()).unwrap();
    let data = folder.path().join("ask.json");
    std::fs::write(&data, r#"{"text":"hi"}"#).unwrap();
    let data = format!("@{}", data.display());
    let mut how = vec!["--grpc-call", "test.Echo.Say", "--data", &data];
    how.extend(["--protoset", protoset.to_str().unwrap()]);
    how.extend(["--metadata", "x-key: one", "--grpc-deadline", "250ms"]);
    let result = ten(&server, &how).unwrap();
    assert_eq!(result["ok"], 10, "{result}");
    let expected = Seen {
        path: "/test.Echo/Say".into(),
        timeout: Some("250000u".into()),
        key: Some("one".into()),
        messages: messages(&["hi"]),
    };
    let seen = server.seen("/test.Echo/Say");
    assert_eq!((seen.len(), &seen[0]), (10, &expected));
}

#[test]
fn a_file_that_is_no_descriptor_set_is_refused_with_the_reason_and_the_command_that_makes_one() {
    let server = Calls::start(None, 0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("echo.set");
    let whole = set();
    for (bytes, reason) in [
        (&b"no set"[..], "decode"),
        (&whole[..whole.len() / 2], "decode"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let file = file.to_str().unwrap();
        let how = [
            "--grpc-call",
            "test.Echo/Say",
            "--data",
            "{}",
            "--protoset",
            file,
        ];
        let error = ten(&server, &how).unwrap_err();
        for part in [
            file,
            "not a whole descriptor set: ",
            reason,
            "--include_imports",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

#[test]
fn a_server_that_describes_itself_needs_no_file() {
    let server = Calls::start(Some(file()), 0);
    let how = [
        "--grpc-call",
        "test.Echo/Chat",
        "--ping-pong",
        "--metadata",
        "x-key: 1",
    ];
    let result = ten(
        &server,
        &[&how[..], &["--data", r#"{"text":"hi"}"#]].concat(),
    )
    .unwrap();
    assert_eq!(result["ok"], 10, "{result}");
    // The newest version is asked first; this server has only the one before.
    let asked = |version: &str| {
        let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        server.seen(&path)
    };
    assert_eq!((asked("v1").len(), asked("v1alpha").len()), (1, 1));
    assert_eq!(asked("v1alpha")[0].key.as_deref(), Some("1"));

    let silent = Calls::start(None, 0);
    let error = ten(&silent, &["--grpc-call", "test.Echo/Say", "--data", "{}"]).unwrap_err();
    assert!(
        error.contains("unimplemented") && error.contains("--protoset"),
        "{error}"
    );
}

#[test]
fn the_origin_answers_every_kind_of_call_as_it_describes_itself() {
    let (_origin, address) = origin(&[]);
    let two = r#"[{"payload":"YQ=="},{"payload":"YmI="}]"#;
    let calls: [(&str, &str, &[&str], u64, u64); 4] = [
        ("Echo", r#"{"payload":"YQ=="}"#, &[], 1, 1),
        ("Collect", two, &["--messages", "100"], 100, 1),
        ("Produce", r#"{"count":"5","size":9}"#, &[], 1, 5),
        ("Converse", two, &["--messages", "6", "--ping-pong"], 6, 6),
    ];
    for (method, data, more, sent, received) in calls {
        let path = format!("tare.origin.Echo/{method}");
        let how = [
            "--grpc-health",
            "tare.origin.Echo",
            "--grpc-call",
            &path,
            "--data",
            data,
        ];
        let result = ten_at(&format!("http://{address}"), &[&how, more].concat()).unwrap();
        assert_eq!(result["ok"], 10, "{method}: {result}");
        let counts = &result["protocol_counts"];
        assert_eq!(counts["messages-sent"], 10 * sent, "{method}: {counts}");
        assert_eq!(
            counts["messages-received"],
            10 * received,
            "{method}: {counts}"
        );
    }
    let failing = [
        "--grpc-call",
        "tare.origin.Echo/Echo",
        "--expect-code",
        "14",
    ];
    let asked = [&failing[..], &["--data", r#"{"status":14}"#]].concat();
    let result = ten_at(&format!("http://{address}"), &asked).unwrap();
    assert_eq!(result["ok"], 10, "{result}");
}

#[test]
fn what_the_protocol_counted_is_said_as_far_as_it_is_more_than_nothing() {
    let (_origin, address) = origin(&[]);
    let url = format!("http://{address}");
    let call = ["--grpc-call", "tare.origin.Echo/Echo", "--data", "{}"];
    let mut load = tare(&["load", &url, "--no-calibrate", "-n", "10", "-C", "2"]);
    let text = stdout(&finish(load.args(call), LIMIT));
    let mut lines = text
        .lines()
        .skip_while(|line| !line.starts_with("protocol "));
    let first = lines
        .next()
        .unwrap_or_else(|| panic!("no line of the protocol: {text}"));
    let more = lines.take_while(|line| line.starts_with(' '));
    let line = more.fold(first.to_owned(), |all, line| {
        format!("{all} {}", line.trim())
    });
    for count in [
        "10 messages received",
        "10 messages sent",
        "10 streams opened",
    ] {
        assert!(line.contains(count), "no {count}: {line}");
    }
    assert!(!line.contains(" 0 "), "{line}");
    // A protocol that counts nothing has no line.
    let mut load = tare(&["load", &url, "--no-calibrate", "-n", "10"]);
    let text = stdout(&finish(&mut load, LIMIT));
    assert!(!text.contains("\nprotocol "), "{text}");
}

#[test]
fn what_is_asked_before_a_load_goes_over_tls_as_the_load_does() {
    let (_origin, address) = origin(&["--tls"]);
    let url = format!("https://{address}");
    let how = [
        "--grpc-health",
        "",
        "--grpc-call",
        "tare.origin.Echo/Converse",
        "--ping-pong",
    ];
    let how = [&how[..], &["--messages", "3", "--data", "{}"]].concat();
    let result = ten_at(&url, &[&how[..], &["--insecure"]].concat()).unwrap();
    assert_eq!(result["ok"], 10, "{result}");
    assert_eq!(result["protocol_counts"]["messages-received"], 30);
    // Health is asked again and again, the last time with hardly any time left, and that look may be cut short before it has seen the
    // certificate. What the method is is asked once.
    let untrusted = ten_at(&url, &[&how[..], &["--timeout", "3s"]].concat()).unwrap_err();
    assert!(
        untrusted.contains("the server was not ready to serve within 3s"),
        "{untrusted}"
    );
    let untrusted = ten_at(&url, &how[2..]).unwrap_err();
    assert!(untrusted.contains("certificate"), "{untrusted}");
}

#[test]
fn health_is_waited_for_and_can_be_the_load() {
    let server = Calls::start(None, 2);
    let result = ten(&server, &["--grpc-health", "test.Echo"]).unwrap();
    assert_eq!(result["ok"], 10, "{result}");
    let checks = server.seen("/grpc.health.v1.Health/Check");
    assert_eq!(
        checks.len(),
        13,
        "two in vain, one that let the load begin, ten of the load"
    );
    assert_eq!(checks[12].messages, messages(&["test.Echo"]));

    let never = Calls::start(None, u32::MAX);
    let error = ten(&never, &["--grpc-health", "a.B", "--timeout", "3s"]).unwrap_err();
    assert!(
        error.contains("a.B was not ready to serve within 3s"),
        "{error}"
    );
}

#[test]
fn an_encoded_message_needs_no_description_and_a_status_can_be_expected() {
    let server = Calls::start(None, 0);
    let how = [
        "--call-kind",
        "bidi",
        "--message",
        "hex:0a0161",
        "--message",
        "base64:CgFi",
    ];
    let result = ten(
        &server,
        &[&["--grpc-call", "test.Echo/Chat"], &how[..]].concat(),
    )
    .unwrap();
    assert_eq!(result["ok"], 10, "{result}");
    assert_eq!(
        server.seen("/test.Echo/Chat")[0].messages,
        messages(&["a", "b"])
    );

    let how = ["--grpc-call", "test.Echo/Shout", "--expect-code", "12"];
    assert_eq!(ten(&server, &how).unwrap()["ok"], 10);
    let error = ten(&server, &["--grpc-call", "test.Echo/Shout"]).unwrap_err();
    assert!(error.contains("no request succeeded"), "{error}");
}

#[test]
fn what_does_not_fit_together_is_said_before_anything_is_sent() {
    let server = Calls::start(None, 0);
    let (_folder, file) = described();
    let file = file.to_str().unwrap();
    let said = |more: &[&str]| ten(&server, more).unwrap_err();
    assert!(said(&["--messages", "2"]).contains("add --grpc"));
    assert!(said(&["--http2", "--grpc-call", "a.B/C"]).contains("leave out --http2"));
    assert!(said(&["--grpc-call", "a"]).contains("package.Service/Method"));
    let say = ["--grpc-call", "test.Echo/Say", "--proto", file];
    let with = |more: &[&str]| said(&[&say[..], more].concat());
    assert!(with(&["--messages", "2"]).contains("the call is unary"));
    assert!(with(&["--call-kind", "bidi"]).contains("described as unary"));
    assert!(with(&["--data", r#"{"txt":1}"#]).contains("its fields are: text"));
    assert!(with(&["--ping-pong"]).contains("bidirectional"));
    assert!(with(&["--metadata", "x-bin: ?"]).contains("base64"));
    assert_eq!(server.seen("/test.Echo/Say"), []);
}
