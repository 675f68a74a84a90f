//! Experiments and workloads are data: what they set is no line and no directive of a configuration, and what they name is theirs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use tare_experiment::catalog::Catalog;
use tare_experiment::find::Library;
use tare_experiment::resolve::{ResolveOptions, resolve};
use tare_record::plan::{Form, Plan};

use crate::bench::{repository, source};

/// Texts that mean something to one configuration or another.
fn hostile() -> Vec<String> {
    let short = [
        "a\nb",
        "a\rb",
        "a\n",
        "\na",
        "a;b",
        "a\"b",
        "a'b",
        "a}b",
        "a{b",
        "a%b",
        "{{ a }}",
        "{% raw %}",
        "a#b",
        "a\0b",
        "a b",
        "a\tb",
        "a\u{2028}b",
        "a\u{85}b",
        "a\u{202e}b",
        "$(a)",
        "`a`",
        "a\\b",
        "../a",
        "/a",
    ];
    let long = ["x".repeat(1025), "x".repeat(1 << 16)];
    short.into_iter().map(str::to_owned).chain(long).collect()
}

#[test]
fn no_text_setting_of_a_built_in_target_takes_what_could_mean_something_else() {
    let catalog = Library::in_directory(&repository(), tare_load::protocols::infos()).catalog;
    let choices = ResolveOptions::new(Form::Full, vec![0, 1]);
    let mut tried = 0;
    for name in catalog.target_names() {
        let target = catalog.target(&name).unwrap().unwrap().def;
        for (key, setting) in &target.settings {
            if setting.default.is_boolean() || setting.default.is_number() {
                continue;
            }
            assert!(
                !setting.one_of.is_empty() || setting.pattern.is_some(),
                "{name}: {key} takes any text"
            );
            for text in hostile() {
                let experiment = format!(
                    "question: q\nworkload: echo\narms: [{{name: a}}, {{name: b}}]\nload: {{rate: 9}}\ntargets:\n  {name}: {{{key}: {}}}\n",
                    json!(text)
                );
                let planned = resolve(&source("case.yaml", &experiment), &catalog, &choices);
                let said = planned.unwrap_err().to_string();
                let place = format!("case.yaml:6:{}: ", name.len() + key.len() + 8);
                assert!(said.starts_with(&place), "{name} {key} {text:?}: {said}");
                assert!(said.contains("must be"), "{said}");
                let shown = said.chars().all(|c| !c.is_control()) && said.len() < 600;
                assert!(shown, "{said:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 10 * hostile().len(), "{tried}");
}

/// A workload `mine` of these lines beside an experiment, both in one folder with `secret` outside of them.
fn with_workload(
    lines: &str,
    load: &str,
    settings: &str,
) -> (tempfile::TempDir, Result<Plan, String>) {
    let place = tempfile::tempdir().unwrap();
    let own = place.path().join("workloads/mine");
    fs::create_dir_all(&own).unwrap();
    fs::write(place.path().join("secret"), "secret\n").unwrap();
    symlink(place.path().join("secret"), own.join("link")).unwrap();
    fs::write(own.join("own"), "0\n1\n").unwrap();
    fs::write(own.join("workload.yaml"), lines).unwrap();
    let mut catalog: Catalog =
        Library::in_directory(&repository(), tare_load::protocols::infos()).catalog;
    catalog.workloads.push(place.path().join("workloads"));
    let text = format!(
        "question: q\nworkload: {{use: mine{settings}}}\narms: [{{name: a}}, {{name: b}}]\nload: {{{load}}}\n"
    );
    let file = own.join("case.yaml").display().to_string();
    let planned = resolve(
        &source(&file, &text),
        &catalog,
        &ResolveOptions::new(Form::Full, vec![0, 1]),
    );
    let planned = planned.map_err(|problems| problems.to_string());
    (place, planned)
}

const WORKLOAD: &str = "workload: mine
about: what is mine
parts: {client: {kind: client}, server: {kind: service, target: TARGET}}
edges: [{edge: client->server, protocol: PROTOCOL}]
settings: {word: {kind: text, default: a, about: a word}}
loads: {default: {edge: client->server, REST}}
";

fn workload(target: &str, protocol: &str, rest: &str) -> String {
    let text = WORKLOAD.replace("TARGET", target);
    text.replace("PROTOCOL", protocol).replace("REST", rest)
}

const PLAIN: &str = "about: x, requests: [{name: a, path: \"/{{ word }}\"}]";

#[test]
fn a_text_of_a_workload_holds_no_control_characters() {
    let lines = workload("origin", "http1", PLAIN);
    for text in ["a\nb", "a\rb", "a\0b", "a\u{2028}b", &"x".repeat(1025)] {
        let (_place, planned) =
            with_workload(&lines, "rate: 9", &format!(", word: {}", json!(text)));
        let said = planned.unwrap_err();
        assert!(said.contains("case.yaml:2:29: setting \"word\""), "{said}");
    }
    let (_place, planned) = with_workload(&lines, "rate: 9", ", word: \"a b;c\"");
    assert!(planned.is_ok(), "{planned:?}");
}

/// Names of files that are not below the folder of the one who names them, and what is said of each.
fn foreign() -> [(&'static str, &'static str); 5] {
    let other = "of its own folder only";
    [
        ("../../secret", other),
        ("link", other),
        ("/etc/passwd", other),
        ("/dev/zero", other),
        (".", "not a regular file"),
    ]
}

#[test]
fn a_recording_is_a_file_of_the_experiment_s_own_folder() {
    let lines = workload("origin", "http1", PLAIN);
    for (name, part) in foreign() {
        let (_place, planned) = with_workload(&lines, &format!("recording: {name}"), "");
        let said = planned.unwrap_err();
        assert!(
            said.contains("case.yaml:4:19: ") && said.contains(part),
            "{said}"
        );
    }
    let (_place, planned) = with_workload(&lines, "recording: own", "");
    assert!(planned.is_ok(), "{planned:?}");
}

#[test]
fn a_session_is_a_file_of_the_workload_s_own_folder() {
    for (name, part) in foreign() {
        let lines = workload("origin", "http1", &format!("about: x, session: {name}"));
        let (_place, planned) = with_workload(&lines, "clients: 1", "");
        let said = planned.unwrap_err();
        assert!(
            said.contains("workload.yaml:6:60: ") && said.contains(part),
            "{said}"
        );
    }
}

#[test]
fn a_preparation_step_is_one_request_or_one_topic() {
    let said = |step: &str| {
        let lines = workload("origin", "http1", PLAIN)
            + &format!("prepare: {{fill: {{about: x{step}}}}}\n");
        with_workload(&lines, "rate: 9", "").1.unwrap_err()
    };
    let request = ", request: {path: /, name: a}";
    let topic = ", topic: {part: server, port: p, name: t, partitions: \"1\", replicas: \"1\"}";
    let both = format!("{request}{topic}");
    for step in ["", &both] {
        let said = said(step);
        assert!(said.contains("exactly one of request and topic"), "{said}");
    }
    let said = said(&format!("{request}, when: start"));
    assert!(
        said.contains("only a topic can be prepared at the start"),
        "{said}"
    );
}

#[test]
fn a_password_that_a_workload_names_is_a_file_of_its_own_folder() {
    let with = |name: &str| {
        let login = format!("{{mechanism: PLAIN, user: u, password_file: {name}}}");
        let rest = format!(
            "about: x, protocol: kafka-produce, client: {{sasl: {login}}}, requests: [{{name: a, path: t, body: {{text: x}}}}]"
        );
        with_workload(&workload("kafka", "kafka", &rest), "rate: 9", "")
    };
    for (name, part) in foreign() {
        let (_place, planned) = with(name);
        let said = planned.unwrap_err();
        assert!(
            said.contains("case.yaml:4:") && said.contains(part),
            "{said}"
        );
    }
    let (place, planned) = with("own");
    let load = serde_json::to_value(&planned.unwrap().cells[0].load[0].load).unwrap();
    let own = fs::canonicalize(place.path().join("workloads/mine/own")).unwrap();
    assert_eq!(
        found(&load, "password_file").map(Path::new),
        Some(own.as_path())
    );
}

#[test]
fn metrics_of_a_workload_s_external_part_are_those_of_its_target() {
    let rest = "about: x, protocol: kafka-produce, requests: [{name: a, path: t, body: {text: x}}]";
    let with = |target: &str, more: &str| {
        let part = format!("{target}, external: {{bootstrap: [\"127.0.0.1:9\"]{more}}}");
        let lines = workload(&part, "kafka", rest);
        let lines = lines.replace("target: , ", "");
        with_workload(&lines, "rate: 9", "")
    };
    let metrics = |password: &str| {
        format!(", metrics: {{jolokia: [\"127.0.0.1:1\"], user: ann, password_file: {password}}}")
    };
    let (place, planned) = with("kafka", &metrics("own"));
    let plan = planned.unwrap();
    let read = plan.external()[0].metrics.clone().unwrap();
    assert_eq!(read.target, "kafka");
    assert_eq!(read.source.jolokia, ["127.0.0.1:1"]);
    let own = fs::canonicalize(place.path().join("workloads/mine/own")).unwrap();
    let password = read.source.password_file.as_deref().map(Path::new);
    assert_eq!(password, Some(own.as_path()));
    for (name, part) in foreign() {
        let said = with("kafka", &metrics(name)).1.unwrap_err();
        assert!(
            said.contains("workload.yaml:3:") && said.contains(part),
            "{said}"
        );
    }
    for (target, more, words) in [
        ("kafka", String::new(), "leave its target out"),
        ("origin", metrics("own"), "no target says which metrics"),
        ("", metrics("own"), "no target says which metrics"),
        ("kafak", metrics("own"), "did you mean \"kafka\"?"),
    ] {
        let said = with(target, &more).1.unwrap_err();
        assert!(said.contains(words), "{target}: {said}");
    }
}

/// The text of a key, wherever it stands.
fn found<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    match value {
        Value::Object(entries) => entries
            .get(key)
            .and_then(Value::as_str)
            .or_else(|| entries.values().find_map(|inner| found(inner, key))),
        Value::Array(items) => items.iter().find_map(|inner| found(inner, key)),
        _ => None,
    }
}
