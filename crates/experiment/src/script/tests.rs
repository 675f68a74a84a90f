//! Tests of requests files, session scripts, and the problems reported for them.

use std::path::Path;

use tare_record::load::session::{CaptureSource, Condition, StepAction};
use tare_record::load::{Body, ExpectStatus, Rows};

use super::*;

fn session(text: &str) -> Script {
    session_of("s.yaml", Path::new("."), text).unwrap()
}

fn said(text: &str) -> String {
    session_of("s.yaml", Path::new("."), text)
        .unwrap_err()
        .to_string()
}

#[test]
fn the_session_of_the_documentation_is_read() {
    let page = include_str!("../../../../docs/SESSIONS.md");
    let start = page.find("# airline.yaml").unwrap();
    let end = page[start..].find("```").unwrap() + start;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("users.csv"), "login\nuid0@email.com\n").unwrap();
    let script = session_of("airline.yaml", folder.path(), &page[start..end]).unwrap();
    let session = script.mix.session.unwrap();
    let names: Vec<_> = session
        .request_steps()
        .iter()
        .map(|step| step.request.name.clone())
        .collect();
    assert_eq!(
        names,
        [
            "login",
            "profile",
            "update-profile",
            "query",
            "book",
            "list",
            "cancel"
        ]
    );
    let list = session.request_steps()[5].captures[0].clone();
    assert_eq!(
        list.from,
        CaptureSource::JsonAll {
            pointer: "/*/_id".into(),
            skip: 2
        }
    );
    assert_eq!(script.mix.tables[0].order, Rows::Random);
}

#[test]
fn the_requests_of_the_documentation_are_read() {
    let page = include_str!("../../../../docs/SESSIONS.md");
    let start = page.find("# shop.yaml").unwrap();
    let end = page[start..].find("```").unwrap() + start;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("users.csv"), "name\nann\n\"b, c\"\n").unwrap();
    let script = requests_of("shop.yaml", folder.path(), &page[start..end]).unwrap();
    assert_eq!(script.requests.len(), 3);
    assert_eq!(script.requests[0].weight, 3.0);
    assert_eq!(
        script.requests[1].expect.status,
        ExpectStatus::Among(vec![200, 304])
    );
    assert_eq!(script.requests[2].method, "POST");
    assert_eq!(script.mix.tables[0].rows, [["ann"], ["b, c"]]);
}

#[test]
fn loops_and_conditions_become_acts() {
    let script = session(
        "steps:\n- {name: a, path: /a, capture: {x: {json: /x}}}\n- {while: x, loop: 2..3, steps: [{name: b, path: /b}]}\n\
         - {if: x = yes, think: 1s..2s}\n- {name: c, path: /c, json: {n: '{{ raw:x }}', s: '{{ x }}'}}\n",
    );
    let session = script.mix.session.unwrap();
    assert!(
        matches!(&session.steps[1].action, StepAction::Loop { least: 2, most: 3, condition: Some(Condition::Has(x)), .. } if x == "x")
    );
    assert!(matches!(
        session.steps[2].action,
        StepAction::Think {
            from_ns: 1_000_000_000,
            to_ns: 2_000_000_000
        }
    ));
    let is = Condition::Is {
        name: "x".into(),
        value: "yes".into(),
    };
    assert_eq!(session.steps[2].condition, Some(is));
    let text = r#"{"n":{{ raw:x }},"s":"{{ x }}"}"#.to_owned();
    assert_eq!(session.request_steps()[2].request.body, Body::Json { text });
}

#[test]
fn mistakes_are_told_with_their_place_and_a_hint() {
    let one = said(
        "steps:\n- name: a\n  path: /a\n  capture: {token: {json: /t}}\n- name: b\n  path: /{{ tokn }}\n",
    );
    assert!(
        one.starts_with("s.yaml:6:9: ") && one.contains("did you mean \"token\"?"),
        "{one}"
    );
    let unknown = said("steps:\n- name: a\n  path: /a\n  expects: {status: 200}\n");
    assert!(
        unknown.starts_with("s.yaml:4:3: ") && unknown.contains("\"expect\""),
        "{unknown}"
    );
    let twice = said("steps:\n- {name: a, path: /}\n- {name: a, path: /}\n");
    assert!(
        twice.contains(":3:") && twice.contains("named \"a\""),
        "{twice}"
    );
    for (text, part) in [
        ("steps:\n- {name: a, path: /, loop: 3}\n", "does one thing"),
        (
            "steps:\n- {loop: many, steps: [{name: a, path: /}]}\n",
            "number of times",
        ),
        ("steps:\n- {think: soon}\n", "1s..5s"),
        ("steps:\n- {if: x, name: a, path: /}\n", "captures or sets"),
        ("steps:\n- {name: session, path: /}\n", "whole sessions"),
        (
            "steps:\n- {name: a, path: '/{{ int:9..1 }}'}\n",
            "int:1..1000",
        ),
        (
            "steps:\n- {name: a, path: /, capture: {x: {json: a.b}}}\n",
            "write /a/b",
        ),
        (
            "steps:\n- {name: a, path: /, capture: {x: {}}}\n",
            "one source",
        ),
        (
            "steps:\n- {name: a, path: /, body: x, form: {a: 1}}\n",
            "one body",
        ),
        ("steps:\n- {think: 1s}\n", "sends nothing"),
        (
            "data: {u: {file: no.csv}}\nsteps:\n- {name: a, path: /}\n",
            "no.csv cannot be read",
        ),
        (
            "data: {u: {rows: [{a: 1}]}}\nsteps:\n- {name: a, path: '/{{ u.b }}'}\n",
            "no \"b\"",
        ),
    ] {
        assert!(said(text).contains(part), "{text}: {}", said(text));
    }
}

#[test]
fn csv_with_quotes_and_json_lines_are_the_same_rows() {
    let (columns, rows) = rows("a,b\r\n1,\"x, \"\"y\"\"\nz\"\r\n\r\n", "csv").unwrap();
    assert_eq!(
        (columns.len(), rows.as_slice()),
        (2, &[vec!["1".to_owned(), "x, \"y\"\nz".into()]][..])
    );
    let json = super::rows("{\"a\":1,\"b\":\"x, \\\"y\\\"\\nz\"}\n", "jsonl").unwrap();
    assert_eq!(json.1, rows);
    assert!(
        super::rows("a,b\n1\n", "csv")
            .unwrap_err()
            .contains("row 1")
    );
    assert!(
        super::rows("a\n\"1\n", "csv")
            .unwrap_err()
            .contains("quote")
    );
    assert!(super::rows("{}", "txt").is_err());
}

#[test]
fn bodies_and_data_are_regular_files_of_the_script_s_own_folder() {
    let place = tempfile::tempdir().unwrap();
    let own = place.path().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(place.path().join("secret.csv"), "a\n1\n").unwrap();
    std::fs::write(own.join("own.csv"), "a\n1\n").unwrap();
    std::os::unix::fs::symlink("../secret.csv", own.join("link.csv")).unwrap();
    std::fs::write(own.join("long.csv"), vec![b'x'; (16 << 20) + 1]).unwrap();
    let read = |text: &str| session_of("s.yaml", &own, text);
    let body = |name: &str| {
        read(&format!(
            "steps:\n- {{name: a, path: /,\n   body-file: {name}}}\n"
        ))
    };
    let data = |name: &str| {
        read(&format!(
            "data:\n  t: {{file: {name}}}\nsteps:\n- {{name: a, path: /}}\n"
        ))
    };
    let script = body("own.csv").unwrap();
    let session = script.mix.session.unwrap();
    let text = String::from("a\n1\n");
    assert_eq!(session.request_steps()[0].request.body, Body::Text { text });
    assert_eq!(data("own.csv").unwrap().mix.tables[0].rows.len(), 1);
    let absolute = place.path().join("secret.csv").display().to_string();
    for (name, part) in [
        ("../secret.csv", "of its own folder only"),
        ("link.csv", "of its own folder only"),
        ("/etc/shadow", "of its own folder only"),
        ("/dev/zero", "of its own folder only"),
        (&absolute, "of its own folder only"),
        (".", "not a regular file"),
        ("long.csv", "at most 16777216 bytes"),
    ] {
        let said = body(name).unwrap_err().to_string();
        assert!(
            said.starts_with("s.yaml:3:15: ") && said.contains(part),
            "{said}"
        );
        let said = data(name).unwrap_err().to_string();
        assert!(
            said.starts_with("s.yaml:2:3: ") && said.contains(part),
            "{said}"
        );
    }
    let plain = requests_of(
        "r.yaml",
        &own,
        "requests:\n- {name: a, path: /, body-file: link.csv}\n",
    );
    assert!(plain.unwrap_err().to_string().starts_with("r.yaml:2:"));
}
