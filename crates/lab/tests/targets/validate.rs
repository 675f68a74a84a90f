//! The real software reads every rendered configuration and says whether it is one.

use std::fs;
use std::path::Path;
use std::process::Command;

use tare_lab::certificates::Authority;
use tare_lab::render::render;
use tare_lab::targets::Target;

use crate::place::{Case, cases, fixed, otherwise, prepare, software, targets};

/// How each product checks a configuration without serving it.
fn check(target: &str, bin: &Path, dir: &Path) -> Command {
    let file = |name: &str| dir.join(name).display().to_string();
    let mut command = Command::new(bin);
    match target {
        "envoy" => command.args(["--mode", "validate", "-c", &file("envoy.yaml")]),
        "nginx" => command.args([
            "-t",
            "-e",
            "stderr",
            "-p",
            &file(""),
            "-c",
            &file("nginx.conf"),
        ]),
        "haproxy" => command.args(["-c", "-f", &file("haproxy.cfg")]),
        other => panic!("say here how {other} checks a configuration"),
    };
    command
}

fn all_are_accepted(name: &str) {
    let targets = targets();
    let target = targets.get(name).unwrap();
    let otherwise = otherwise(&target.def);
    assert!(
        !otherwise.is_empty(),
        "a target without a switch needs another test"
    );
    for case in cases(target) {
        is_accepted(target, &case);
        let settings = Some(("otherwise", otherwise.clone()));
        is_accepted(target, &Case { settings, ..case });
    }
}

fn is_accepted(target: &Target, case: &Case) {
    let name = target.def.target.as_str();
    let software = software(target);
    let authority = Authority::new("run").unwrap();
    let place = tempfile::tempdir().unwrap();
    let mut context = fixed(target, case);
    context.dir = place.path().to_owned();
    context.bin.clone_from(&software.bin);
    if context.identity.is_some() {
        let keys = place.path().join("keys");
        fs::create_dir(&keys).unwrap();
        context.identity = Some(authority.issue("middle", &[], &[], &keys).unwrap());
    }
    let rendered = render(target, &context).unwrap();
    rendered.write().unwrap();
    prepare(&rendered);
    let output = check(name, &software.bin, place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", case.name());
    let said = said.to_ascii_lowercase();
    for word in ["deprecated", "[warn", "warning"] {
        assert!(!said.contains(word), "{}: {said}", case.name());
    }
}

#[test]
fn envoy_accepts_every_rendered_configuration() {
    all_are_accepted("envoy");
}

#[test]
fn nginx_accepts_every_rendered_configuration() {
    all_are_accepted("nginx");
}

#[test]
fn haproxy_accepts_every_rendered_configuration() {
    all_are_accepted("haproxy");
}
