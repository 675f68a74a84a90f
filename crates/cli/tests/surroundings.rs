//! What lies around the real binary and belongs to other users: it decides nothing, runs nothing and is not believed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says where by panicking, and one that is skipped says so"
)]

mod rig;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use rig::{finish, kill, origin, root, stderr, stdout, tare, wait_for};
use tare_lab::lab_state::{LabState, PodProcess};
use tare_lab::process;

const LIMIT: Duration = Duration::from_secs(60);
/// A user that nobody is.
const STRANGER: u32 = 65_533;

/// Whether files can be given to a stranger; says so where not.
fn can_give_away() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("not root: no file can be given to another user, so this is not tried");
    }
    is_root
}

/// Gives a folder and all that is in it to a user.
fn give(path: &Path, user: u32) {
    chown(path, Some(user), None).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

/// A place with a program, and a library whose only target calls us when anything of it is run: it can write nowhere.
struct Place(tempfile::TempDir, TcpListener);

impl Place {
    fn new() -> Place {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let place = Place(tempfile::tempdir().unwrap(), listener);
        for folder in [
            "bin",
            "library/below",
            "library/workloads",
            "library/targets/trap",
        ] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        for folder in [
            "",
            "library",
            "library/workloads",
            "library/targets",
            "library/targets/trap",
        ] {
            fs::set_permissions(place.path(folder), Permissions::from_mode(0o755)).unwrap();
        }
        place.target("{path: sh}");
        // Another process writes it: what is open for writing here, a test beside this one may hand on to its children, and the
        // kernel runs no file that somebody writes ("Text file busy").
        let mut copied = Command::new("cp");
        copied.args([
            Path::new(env!("CARGO_BIN_EXE_tare")),
            &place.path("bin/tare"),
        ]);
        assert!(copied.status().unwrap().success());
        place
    }

    fn target(&self, get: &str) {
        let text = format!(
            "target: trap\nabout: calls\nget: [{get}]\nversion: {{command: [bash, -c, 'exec 3<>/dev/tcp/127.0.0.1/{}; echo version 1'], pattern: 'version (\\S+)'}}\nroles: [app]\nprotocols: [http1]\nstart: [x]\nready: {{tcp: x, timeout: 1s}}\n",
            self.1.local_addr().unwrap().port()
        );
        let file = self.path("library/targets/trap/target.yaml");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn mark(&self) -> PathBuf {
        self.path("mark")
    }

    /// Whether the target's command was run since the last question.
    fn was_run(&self) -> bool {
        std::iter::from_fn(|| self.1.accept().ok()).count() > 0
    }

    /// The program that lies here, started in this folder, without a word of where its library is.
    fn tare(&self, words: &[&str], here: &str) -> Command {
        let mut command = Command::new(self.path("bin/tare"));
        command
            .args(words)
            .env_remove("TARE_HOME")
            .env("TARE_CACHE", self.path("cache"))
            .current_dir(self.path(here));
        command
    }
}

#[test]
fn a_folder_of_somebody_else_is_no_library_and_nothing_of_it_is_run() {
    if !can_give_away() {
        return;
    }
    let place = Place::new();
    let library = place.path("library");
    let targets = |place: &Place| finish(&mut place.tare(&["targets"], "library/below"), LIMIT);
    give(&library, STRANGER);
    for words in [
        &["targets"][..],
        &["targets", "fetch", "trap"],
        &["doctor"],
        &["plan", "sidecar"],
        &["run", "sidecar"],
        &["lab", "up", "direct"],
    ] {
        let output = finish(&mut place.tare(words, "library/below"), LIMIT);
        let said = stderr(&output);
        let whose = format!("targets belongs to user {STRANGER}; if you trust this folder");
        assert!(said.contains(&whose), "{words:?}: {said}");
        assert!(
            said.contains(&format!("set TARE_HOME={}", library.display())),
            "{said}"
        );
        assert!(!output.status.success() && !place.was_run(), "{words:?}");
    }
    // Who names it wants it.
    let mut named = place.tare(&["targets"], "library/below");
    let output = finish(named.env("TARE_HOME", &library), LIMIT);
    assert!(
        output.status.success() && place.was_run(),
        "{}",
        stderr(&output)
    );
    // A file of his in a library of ours.
    give(&library, 0);
    give(&library.join("targets/trap/target.yaml"), STRANGER);
    let output = targets(&place);
    let whose = format!("target.yaml belongs to user {STRANGER}; if you trust it");
    assert!(stderr(&output).contains(&whose), "{}", stderr(&output));
    assert!(output.status.code() == Some(2) && !place.was_run());
    give(&library, 0);
    assert!(targets(&place).status.success() && place.was_run());
}

#[test]
fn an_experiment_of_a_stranger_is_data_and_can_be_planned() {
    let place = Place::new();
    let here = place.path("library");
    fs::copy(
        root().join("experiments/istio-performance/sidecar.yaml"),
        here.join("theirs.yaml"),
    )
    .unwrap();
    let echo = here.join("workloads/echo");
    fs::create_dir(&echo).unwrap();
    for entry in fs::read_dir(root().join("workloads/echo")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), echo.join(entry.file_name())).unwrap();
    }
    if can_give_away() {
        give(&here, STRANGER);
    }
    let mut command = tare(&["plan", "theirs.yaml", "--workloads", "workloads", "--json"]);
    let output = finish(command.current_dir(&here), LIMIT);
    assert!(output.status.success(), "{}", stderr(&output));
    let plan: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(plan["plan"]["experiment"], "theirs");
    assert!(!place.was_run());
}

#[test]
fn a_python_module_that_lies_around_is_not_pythons() {
    let place = Place::new();
    let sum = "0".repeat(64);
    let wheel = format!(
        "{{pip: {{package: no-such-package, version: '1', program: x, sha256: {{{}: '{sum}'}}}}}}",
        std::env::consts::ARCH
    );
    place.target(&wheel);
    let around = place.path("around");
    fs::create_dir(&around).unwrap();
    for name in ["pip.py", "zipfile.py", "runpy.py"] {
        let text = format!("open('{}', 'w')\n", place.mark().display());
        fs::write(around.join(name), text).unwrap();
    }
    let mut command = place.tare(&["targets", "fetch", "trap"], "around");
    command
        .env("TARE_HOME", place.path("library"))
        .env("PYTHONPATH", &around)
        // Nobody listens there: pip is to fail at once.
        .env("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
        .env("PIP_RETRIES", "0");
    let output = finish(&mut command, LIMIT);
    assert!(
        stderr(&output).contains("pip no-such-package==1: "),
        "{}",
        stderr(&output)
    );
    assert!(!place.mark().exists(), "{}", stderr(&output));
}

#[test]
fn root_runs_nothing_from_a_cache_that_another_user_can_change() {
    if !can_give_away() {
        return;
    }
    let place = Place::new();
    let home = place.path("home");
    fs::create_dir_all(home.join(".cache/tare")).unwrap();
    give(&home, STRANGER);
    let fetch = |cache: Option<&Path>| {
        let mut command = place.tare(&["targets", "fetch", "trap"], "");
        command
            .env_remove("TARE_CACHE")
            .env_remove("XDG_CACHE_HOME");
        command
            .env("HOME", &home)
            .envs(cache.map(|cache| ("TARE_CACHE", cache)));
        command.env("TARE_HOME", place.path("library"));
        finish(&mut command, LIMIT)
    };
    let refused = fetch(None);
    let said = stderr(&refused);
    let whose = format!("tare belongs to user {STRANGER}");
    assert!(
        said.contains(&whose) && said.contains("TARE_CACHE"),
        "{said}"
    );
    assert!(!refused.status.success() && !place.was_run());
    // Who names it wants it.
    let named = fetch(Some(&home.join(".cache/tare")));
    assert!(
        named.status.success() && place.was_run(),
        "{}",
        stderr(&named)
    );
    give(&home, 0);
    let own = fetch(None);
    assert!(own.status.success() && place.was_run(), "{}", stderr(&own));
}

#[test]
fn builds_get_what_is_on_their_list_and_no_secret_of_the_environment() {
    let place = Place::new();
    fs::create_dir_all(place.path("library/package/src")).unwrap();
    fs::write(place.path("library/package/Cargo.toml"), "[package]\n").unwrap();
    place.target(
        "{cargo: {package: it, folder: ../../package}}, {go: {module: example.org/it, version: v1.0.0, sum: 'h1:x', package: .}}",
    );
    for tool in ["cargo", "go"] {
        let text = place.path(&format!("{tool}.text"));
        fs::write(&text, "#!/bin/sh\nenv >\"$0.environment\"\nexit 1\n").unwrap();
        // Another process writes it, as above.
        let mut install = Command::new("install");
        install
            .arg("--mode=755")
            .args([text, place.path("bin").join(tool)]);
        assert!(install.status().unwrap().success());
    }
    let given = [
        ("HTTPS_PROXY", "http://127.0.0.1:9"),
        ("GOPROXY", "http://127.0.0.1:9/go"),
        ("CARGO_NET_RETRY", "0"),
    ];
    let secret = [
        "GH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "KAFKA_PASSWORD",
        "CARGO_REGISTRY_TOKEN",
    ];
    let mut command = place.tare(&["targets", "fetch", "trap"], "");
    command
        .env("TARE_HOME", place.path("library"))
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", place.path("bin").display()),
        )
        .envs(given)
        .envs(secret.map(|name| (name, "planted-f00d")));
    let output = finish(&mut command, LIMIT);
    assert!(!output.status.success(), "{}", stderr(&output));
    let environment = |tool: &str| {
        fs::read_to_string(place.path("bin").join(format!("{tool}.environment")))
            .unwrap_or_else(|error| panic!("{tool}: {error}: {}", stderr(&output)))
    };
    for (tool, own) in [
        ("cargo", "CARGO_NET_RETRY=0"),
        ("go", "GOPROXY=http://127.0.0.1:9/go"),
    ] {
        let environment = environment(tool);
        assert!(
            !environment.contains("planted-f00d"),
            "{tool}: {environment}"
        );
        for kept in ["HTTPS_PROXY=http://127.0.0.1:9", "HOME=", own] {
            assert!(environment.contains(kept), "{tool}, {kept}: {environment}");
        }
    }
    assert!(!environment("cargo").contains("GOPROXY") && !environment("go").contains("CARGO_NET"));
}

/// `tare lab`, which looks for beds in this folder.
fn lab(base: &Path, words: &[&str]) -> Output {
    let words: Vec<&str> = ["lab"].iter().chain(words).copied().collect();
    finish(tare(&words).env("XDG_RUNTIME_DIR", base), LIMIT)
}

#[test]
fn what_a_stranger_says_of_a_bed_signals_prints_and_enters_nothing() {
    if !can_give_away() {
        return;
    }
    let (mut victim, _) = origin(&[]);
    let pid = victim.0.id();
    let base = tempfile::tempdir().unwrap();
    let secret = base.path().join("secret");
    fs::write(&secret, "the secret\n").unwrap();
    let folder = base.path().join("tare-1-0123456789abcdef");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    let standing = LabState {
        owner_pid: pid,
        owner_started_ticks: process::stat(pid).unwrap().started_ticks,
        addressing: "namespaces".into(),
        processes: vec![PodProcess {
            pod: "server".into(),
            address: "10.0.0.1".into(),
            instance: "server".into(),
            role: "app".into(),
            software: None,
            pid: Some(pid),
            log: Some(secret),
            enter: None,
            ports: BTreeMap::new(),
        }],
        ..LabState::default()
    };
    standing.publish(&folder).unwrap();
    let logs = || lab(base.path(), &["logs", "server"]);
    let entered = || lab(base.path(), &["exec", "server", "echo", "inside"]);
    give(&folder, STRANGER);
    assert_eq!(stdout(&lab(base.path(), &["ps", "--json"])), "[]\n");
    for output in [logs(), entered(), lab(base.path(), &["down"])] {
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("no such test bed is up"));
        assert_eq!(stdout(&output), "");
    }
    assert!(lab(base.path(), &["down", "--all"]).status.success());
    assert!(victim.0.try_wait().unwrap().is_none(), "it was ended");
    // The same of ours is believed.
    give(&folder, 0);
    assert_eq!(stdout(&logs()), "the secret\n");
    assert_eq!(stdout(&entered()), "inside\n", "{}", stderr(&entered()));
    let down = lab(base.path(), &["down"]);
    assert!(down.status.success(), "{}", stderr(&down));
    wait_for(LIMIT, "end of the holder", || victim.0.try_wait().unwrap());
}

#[test]
fn a_process_that_has_left_its_number_in_a_bed_is_not_entered() {
    let (holder, _) = origin(&[]);
    let (other, _) = origin(&[]);
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("tare-1-0123456789abcdef");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    let pid = holder.0.id();
    let standing = LabState {
        owner_pid: pid,
        owner_started_ticks: process::stat(pid).unwrap().started_ticks,
        addressing: "namespaces".into(),
        processes: vec![PodProcess {
            pod: "server".into(),
            address: String::new(),
            instance: "server".into(),
            role: "app".into(),
            software: None,
            pid: Some(other.0.id()),
            log: None,
            enter: None,
            ports: BTreeMap::new(),
        }],
        ..LabState::default()
    };
    standing.publish(&folder).unwrap();
    let output = lab(base.path(), &["exec", "server", "echo", "inside"]);
    assert!(
        stderr(&output).contains("nothing runs in server"),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&output), "");
    kill(pid, "TERM");
}
