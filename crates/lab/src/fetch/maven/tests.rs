//! Tests of Java archives: what is asked of Maven, what is verified, what is said.

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
    }
}

/// A program that does what mvn would: it puts these files where it was told to.
fn client(place: &Path, files: &[(&str, &str)]) -> PathBuf {
    let mut script = String::from(
        "#!/bin/sh\nfor word in \"$@\"; do case \"$word\" in -DoutputDirectory=*) to=\"${word#*=}\";; esac; done\n",
    );
    for (name, text) in files {
        writeln!(script, "printf '{text}' > \"$to/{name}\"").unwrap();
    }
    let path = place.join("mvn");
    write_program(&path, &script);
    path
}

const A: &str = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
const B: &str = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d";
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
    let mvn = client(place.path(), &FILES);
    let result = archives
        .download(&mvn, &partial, &mut |_| ())
        .and_then(|()| archives.verify(&partial))
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
    let lock = format!("{A}  broker_2.13-4.3.1.jar\n{B}  agent-2.6.0-javaagent.jar\n");
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
    let lock = format!("{B}  broker_2.13-4.3.1.jar\n{A}  gone-1.jar\n");
    let (place, result) = fetched(&lock, &def());
    let said = result.unwrap_err();
    for words in [
        "another SHA-256 than in the lock: broker_2.13-4.3.1.jar",
        "not fetched: gone-1.jar",
        "not in the lock: agent-2.6.0-javaagent.jar",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let new = fs::read_to_string(place.path().join("cache/maven/x.lock")).unwrap();
    assert!(
        new.contains(&format!("{A}  broker_2.13-4.3.1.jar")),
        "{new}"
    );
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
fn maven_is_asked_for_archives_and_for_agents_alone() {
    let place = tempfile::tempdir().unwrap();
    let (def, target) = (def(), target(place.path()));
    let pom = Archives::of(&def, &target, place.path()).pom();
    assert!(pom.contains("<artifactId>broker_2.13</artifactId><version>4.3.1</version></dep"));
    assert!(pom.contains("<classifier>javaagent</classifier><exclusions>"));
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
fn what_maven_says_becomes_one_sentence_with_a_way_out() {
    let cases = [
        ("java.io.IOException: No space left on device", "TARE_CACHE"),
        ("Checksum validation failed, expected abc", "was not used"),
        (
            "Unknown host repo.maven.apache.org: Name or service",
            "check the network",
        ),
        ("[ERROR] Failed: x\n[ERROR] Re-run", "Failed: x"),
        ("nothing", "last"),
    ];
    for (said, expected) in cases {
        let sentence = explain(said, "last");
        assert!(sentence.contains(expected), "{said}: {sentence}");
    }
}
