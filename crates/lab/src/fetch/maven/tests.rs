//! Tests of Java archives: what is asked of the repository, what is verified, what is said.

use tare_experiment::target::{CommandDef, TargetDef};
use tare_record::units::Period;

use super::*;
use crate::fetch::tests::write_program;

fn def() -> MavenDef {
    MavenDef {
        artifacts: vec!["org.x:broker_2.13:4.3.1".to_owned()],
        java_agents: vec!["org.y:agent:2.6.0:javaagent".to_owned()],
        lock: "maven.lock".to_owned(),
        java: 17,
        runtime: "some-java".to_owned(),
        after_fetch: Vec::new(),
    }
}

fn target(folder: &Path) -> Target {
    let text = "target: x\nabout: x\nget: [self]\nversion: {command: [x], pattern: x}\nroles: [app]\nprotocols: [tcp]\nstart: [x]\nready: {tcp: x, timeout: 1s}\n";
    Target {
        def: TargetDef::from_yaml(text, Path::new("t")).unwrap(),
        folder: folder.to_owned(),
        version: None,
    }
}

/// A program that does what curl would: it puts these files where the list says, by their names.
fn client(place: &Path, files: &[(&str, &str)]) -> PathBuf {
    let mut script = String::from(
        "#!/bin/sh\nfor list in \"$@\"; do :; done\n\
         put() { to=$(sed -n \"s|^output = \\\"\\(.*/$1\\)\\\"$|\\1|p\" \"$list\"); \
         if [ -n \"$to\" ]; then mkdir -p \"${to%/*}\"; printf \"$2\" > \"$to\"; fi; }\n",
    );
    for (name, text) in files {
        writeln!(script, "put '{name}' '{text}'").unwrap();
    }
    let path = place.join("curl");
    write_program(&path, &script);
    path
}

const A: &str = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
const B: &str = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d";
const BROKER: &str = "org/x/broker_2.13/4.3.1/broker_2.13-4.3.1.jar";
const AGENT: &str = "org/y/agent/2.6.0/agent-2.6.0-javaagent.jar";
const FILES: [(&str, &str); 2] = [
    ("broker_2.13-4.3.1.jar", "a"),
    ("agent-2.6.0-javaagent.jar", "b"),
];

/// What downloading, verifying and the steps come to with this lock.
fn fetched(lock: &str, def: &MavenDef) -> (tempfile::TempDir, Result<(), String>) {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("maven.lock"), lock).unwrap();
    let target = target(place.path());
    let cache = place.path().join("cache");
    let archives = Archives::of(def, &target, &cache);
    let folder = archives.folder().unwrap();
    let partial = folder.with_extension("partial");
    fs::create_dir_all(&partial).unwrap();
    let curl = client(place.path(), &FILES);
    let result = archives
        .download(&curl, &partial, &mut |_| ())
        .and_then(|()| archives.steps(&partial, &folder));
    (place, result)
}

fn step(name: &str, script: &str) -> CommandDef {
    CommandDef {
        name: name.to_owned(),
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        timeout: Period(Duration::from_secs(20)),
        capabilities: Vec::new(),
    }
}

#[test]
fn archives_that_the_lock_knows_are_used() {
    let lock = format!("{A}  {BROKER}\n{B}  {AGENT}\n");
    let mut def = def();
    def.after_fetch = vec![step(
        "look",
        "test -e jars/broker_2.13-4.3.1.jar && test -e {{ bin }}/agents/agent-2.6.0-javaagent.jar && test -e {{ folder }}/maven.lock",
    )];
    let (_place, result) = fetched(&lock, &def);
    assert_eq!(result, Ok(()));
    def.after_fetch[0].command = vec!["false".to_owned()];
    let (_place, result) = fetched(&lock, &def);
    assert!(result.unwrap_err().contains("look"));
}

#[test]
fn steps_see_the_final_path_and_a_link_from_a_killed_fetch_is_no_folder() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("maven.lock"), "").unwrap();
    let target = target(place.path());
    let mut def = def();
    def.after_fetch = vec![step("keep the path", "echo '{{ bin }}' > '{{ bin }}'/path")];
    let archives = Archives::of(&def, &target, place.path());
    let folder = archives.folder().unwrap();
    let partial = folder.with_extension("partial");
    fs::create_dir_all(&partial).unwrap();
    symlink(&partial, &folder).unwrap();
    assert!(!is_complete(&folder));
    archives.steps(&partial, &folder).unwrap();
    assert!(fs::symlink_metadata(&folder).is_err(), "the link is gone");
    fs::rename(&partial, &folder).unwrap();
    assert!(is_complete(&folder));
    let path = fs::read_to_string(folder.join("path")).unwrap();
    assert_eq!(Path::new(path.trim()), folder);
}

#[test]
fn another_archive_than_the_locked_one_is_refused_and_named() {
    let lock = format!("{B}  {BROKER}\n{B}  {AGENT}\n{A}  org/z/gone/1/gone-1.jar\n");
    let (_place, result) = fetched(&lock, &def());
    let said = result.unwrap_err();
    for words in [
        "another SHA-256 than in the lock: broker_2.13-4.3.1.jar;",
        "not fetched: gone-1.jar",
        "not used",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_lock_without_what_the_target_names_or_with_another_path_fetches_nothing() {
    let (_place, result) = fetched(&format!("{A}  {BROKER}\n"), &def());
    let said = result.unwrap_err();
    assert!(
        said.contains(&format!("maven.lock does not have {AGENT}")),
        "{said}"
    );
    for path in ["../../evil.jar", "a b.jar", "a\"\noutput = b"] {
        let (_place, result) = fetched(&format!("{A}  {path}\n"), &def());
        assert!(
            result.unwrap_err().contains("is not a line of sha256sum"),
            "{path}"
        );
    }
}

#[test]
fn another_pin_is_another_folder() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("maven.lock"), "").unwrap();
    let target = target(place.path());
    let folder = |def: &MavenDef| {
        let archives = Archives::of(def, &target, place.path());
        archives.folder().unwrap()
    };
    let first = folder(&def());
    let mut other = def();
    other.artifacts = vec!["org.x:broker_2.13:4.3.2".to_owned()];
    assert_ne!(first, folder(&other));
    assert_eq!(first, folder(&def()));
    fs::write(
        place.path().join("maven.lock"),
        format!("{A}  another.jar\n"),
    )
    .unwrap();
    assert_ne!(first, folder(&def()));
}

#[test]
fn the_version_of_java_is_read_in_its_old_and_new_forms() {
    let cases = [
        ("openjdk version \"17.0.15\" 2025-04-15", "17.0.15", 17),
        ("java version \"1.8.0_402\"", "1.8.0_402", 8),
        ("openjdk version \"21\" 2023-09-19", "21", 21),
    ];
    for (said, version, major) in cases {
        assert_eq!(java_version(said), Some((version.to_owned(), major)));
    }
    assert_eq!(java_version("bash: java: not found"), None);
}

#[test]
fn what_curl_says_becomes_one_sentence_with_a_way_out() {
    let cases = [
        ("curl: (23) Failure writing output", "TARE_CACHE"),
        (
            "curl: (6) Could not resolve host: repo.maven.apache.org",
            "check the network",
        ),
        (
            "curl: (22) The requested URL returned error: 404",
            "curl said: curl: (22)",
        ),
    ];
    for (said, expected) in cases {
        let sentence = explain(said, "not fetched: x");
        assert!(sentence.contains(expected), "{said}: {sentence}");
    }
}
