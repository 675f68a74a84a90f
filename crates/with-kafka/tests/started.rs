//! How `tare-with-kafka` and the other programs beside `tare` are started: by a `tare` of the same version.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::process::Command;

#[test]
fn its_help_names_the_command_that_users_type() {
    let tare = std::path::Path::new(env!("CARGO_BIN_EXE_tare-with-kafka")).with_file_name("tare");
    for words in [["kafka", "--help"], ["help", "kafka"]] {
        let output = Command::new(&tare).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("Usage: tare kafka"), "{said}");
        assert!(said.contains("  topics "), "{said}");
    }
}

/// `cargo test --workspace` has built them.
#[test]
fn the_programs_beside_it_take_the_options_of_their_version_only() {
    for name in ["tare-history", "tare-perfcheck", "tare-serve"] {
        let program =
            std::path::Path::new(env!("CARGO_BIN_EXE_tare-with-kafka")).with_file_name(name);
        let started_by = |version: &str| {
            let mut command = Command::new(&program);
            let output = command.env("TARE_STARTED_BY", version).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.code(), said)
        };
        let (code, said) = started_by("0.0.9");
        assert_eq!(code, Some(3), "{name}: {said}");
        assert!(said.contains("which started it, 0.0.9: "), "{name}: {said}");
        let (_, said) = started_by(tare_record::version::VERSION);
        assert!(said.contains("with `tare "), "{name}: {said}");
    }
}

#[test]
fn it_goes_on_for_a_tare_of_its_version_only() {
    let started_by = |version: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_tare-with-kafka"));
        program.env("TARE_STARTED_BY", version).arg("--version");
        program.output().unwrap()
    };
    let other = started_by("0.0.9");
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(3), "{said}");
    assert!(said.contains("which started it, 0.0.9: "), "{said}");
    assert!(said.contains("build both again"), "{said}");
    assert!(other.stdout.is_empty());
    let same = started_by(tare_record::version::VERSION);
    let said = String::from_utf8_lossy(&same.stdout).into_owned();
    assert!(same.status.success());
    assert_eq!(said, format!("tare {}\n", tare_record::version::VERSION));
}
