//! What every test here needs: folders, files, and golden texts.

use std::fs;
use std::path::{Path, PathBuf};

use tare_experiment::catalog::Catalog;
use tare_experiment::find::Library;
use tare_experiment::problem::Problems;
use tare_experiment::resolve::{ExperimentSource, ResolveOptions, resolve};
use tare_record::plan::{Form, Plan};

/// Refreshes golden files when set.
const UPDATE: &str = "TARE_UPDATE_GOLDEN";

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The real folders, and over them those of the tests.
pub fn catalog() -> Catalog {
    let folders = here().join("folders");
    Library::in_directory(&repository(), tare_load::protocols::infos())
        .with(&[folders.join("workloads")], &[folders.join("targets")])
        .catalog
}

pub fn source(file: &str, text: &str) -> ExperimentSource {
    ExperimentSource {
        experiment: String::from("study/case"),
        file: file.to_owned(),
        text: text.to_owned(),
    }
}

pub fn plan(text: &str, form: Form) -> Result<Plan, Problems> {
    plan_with(text, &ResolveOptions::new(form, vec![0, 1]))
}

pub fn plan_with(text: &str, choices: &ResolveOptions) -> Result<Plan, Problems> {
    resolve(&source("case.yaml", text), &catalog(), choices)
}

/// The plan of a text that is right.
#[track_caller]
pub fn resolved(text: &str, form: Form) -> Plan {
    match plan(text, form) {
        Ok(plan) => plan,
        Err(problems) => panic!("{problems}"),
    }
}

/// A good text with one change.
#[track_caller]
pub fn changed(good: &str, from: &str, to: &str) -> String {
    assert!(good.contains(from), "{from}");
    good.replacen(from, to, 1)
}

/// A good text with one change has just these problems.
#[track_caller]
pub fn refused(good: &str, from: &str, to: &str, expected: &[&str]) {
    let problems = plan(&changed(good, from, to), Form::Full).unwrap_err();
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said, expected);
}

pub fn sketch(name: &str) -> String {
    fs::read_to_string(here().join("sketches").join(name)).unwrap()
}

/// Compares with a committed text, or refreshes it.
pub fn check_golden(path: &Path, actual: &str) {
    if std::env::var_os(UPDATE).is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} is not what comes out now: look at the difference after {UPDATE}=1",
        path.display()
    );
}
