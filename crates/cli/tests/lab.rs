//! `tare lab` with the real binary: an arm is put up, looked around in, taken down, and nothing is left.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use rig::{Holder, finish, keeper_of, kept_by, kill, stderr, stdout, tare, turn, wait_for};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(60);

/// Puts an arm up; the holder and what `ps` says of it.
fn up(arguments: &[&str]) -> (Holder, Value) {
    let words: Vec<&str> = ["lab", "up"].iter().chain(arguments).copied().collect();
    let child = tare(&words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let holder = Holder(child);
    let standing = wait_for(LIMIT, "bed that is up", || of(holder.0.id()));
    (holder, standing)
}

/// What `ps` says of a holder.
fn of(pid: u32) -> Option<Value> {
    let output = finish(&mut tare(&["lab", "ps", "--json"]), LIMIT);
    let all: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    all.into_iter().find(|one| one["owner_pid"] == pid)
}

fn lab(pid: u32, words: &[&str]) -> std::process::Output {
    let pid = pid.to_string();
    let (verb, rest) = words.split_first().unwrap();
    let words: Vec<&str> = ["lab", verb, "--pid", &pid]
        .iter()
        .chain(rest)
        .copied()
        .collect();
    finish(&mut tare(&words), LIMIT)
}

#[test]
fn an_arm_is_kept_up_entered_read_and_taken_down() {
    let _turn = turn();
    let (mut holder, standing) = up(&["direct"]);
    let pid = holder.0.id();
    let kept = kept_by(keeper_of(pid).unwrap());
    assert!(!kept.is_empty());
    let at = standing["endpoints"]["client->server"][0].as_str().unwrap();
    let url = format!("http://{at}/");
    let asked = lab(
        pid,
        &[
            "exec",
            "client",
            "curl",
            "-sS",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            &url,
        ],
    );
    assert_eq!(stdout(&asked), "200", "{}", stderr(&asked));
    let failed = lab(pid, &["exec", "client", "sh", "-c", "exit 7"]);
    assert_eq!(failed.status.code(), Some(7), "the command's own exit code");
    let logs = lab(pid, &["logs", "server"]);
    assert!(stdout(&logs).contains("listens on"), "{}", stdout(&logs));
    let nobody = lab(pid, &["exec", "nobody", "true"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(stderr(&nobody).contains("there are server, client"));
    let down = lab(pid, &["down"]);
    assert!(down.status.success(), "{}", stderr(&down));
    assert!(wait_for(LIMIT, "end of the holder", || holder.0.try_wait().unwrap()).success());
    assert_eq!(of(pid), None);
    let left: Vec<_> = kept.iter().filter(|(pid, _)| lives(*pid)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_arm_elsewhere_is_kept_up_read_and_taken_down() {
    let _turn = turn();
    let (mut holder, standing) = up(&["direct", "--environment", "remote"]);
    let pid = holder.0.id();
    assert_eq!(standing["location"], "remote");
    // Logs are brought here at intervals.
    wait_for(LIMIT, "log of the server", || {
        let logs = stdout(&lab(pid, &["logs", "server"]));
        logs.contains("listens on").then_some(())
    });
    let entered = lab(pid, &["exec", "server", "true"]);
    assert_eq!(entered.status.code(), Some(2));
    let said = stderr(&entered);
    assert!(said.contains("nothing enters it from here"), "{said}");
    let down = lab(pid, &["down"]);
    assert!(down.status.success(), "{}", stderr(&down));
    // It is down when its owner has ended: pods elsewhere are gone by then.
    assert!(!lives(pid));
    assert!(holder.0.wait().unwrap().success());
    assert_eq!(of(pid), None);
}

#[test]
fn a_pod_of_a_namespace_sees_its_own_devices_only_and_a_killed_holder_leaves_nothing() {
    let _turn = turn();
    let (mut holder, standing) = up(&["direct", "--addressing", "namespaces"]);
    let pid = holder.0.id();
    let kept = kept_by(keeper_of(pid).unwrap());
    let processes = standing["processes"].as_array().unwrap();
    let address = |pod: &str| {
        let mut of_pod = processes.iter().filter(|one| one["pod"] == pod);
        of_pod.next().unwrap()["address"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let own = lab(pid, &["exec", "client", "cat", "/proc/net/fib_trie"]);
    assert!(stdout(&own).contains(&address("client")));
    assert!(!stdout(&own).contains(&format!("{}\n", address("server"))));
    kill(pid, "KILL");
    let _ = holder.0.wait();
    wait_for(LIMIT, "end of everything", || {
        kept.iter().all(|(pid, _)| !lives(*pid)).then_some(())
    });
    wait_for(LIMIT, "bed that is no longer listed", || {
        of(pid).is_none().then_some(())
    });
}

fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.is_empty() && !stat.contains(") Z "))
}

#[test]
fn an_arm_that_is_not_there_is_told_with_those_that_are() {
    let output = finish(&mut tare(&["lab", "up", "dirct"]), LIMIT);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("direct, client-sidecar, both-sidecars"));
}

#[test]
fn leftovers_are_listed_and_removed_only_after_a_yes() {
    let runtime = tempfile::tempdir().unwrap();
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let left = format!("tare-{}-0123456789abcdef", ended.id());
    let left = runtime.path().join(left);
    std::fs::create_dir(&left).unwrap();
    std::fs::set_permissions(&left, std::fs::Permissions::from_mode(0o700)).unwrap();
    let clean = |words: &[&str]| {
        let words = [&["lab", "clean"], words].concat();
        finish(tare(&words).env("XDG_RUNTIME_DIR", runtime.path()), LIMIT)
    };
    let asked = clean(&[]);
    assert_eq!(asked.status.code(), Some(2), "{asked:?}");
    let said = stderr(&asked);
    assert!(
        said.contains(left.to_str().unwrap()) && said.contains("add --yes"),
        "{said}"
    );
    assert!(left.exists());
    assert_eq!(clean(&["--yes"]).status.code(), Some(0));
    assert!(!left.exists());
}

#[test]
fn namespaces_of_dead_runs_are_listed_and_deleted_only_after_a_yes() {
    let programs = rig::root().join("crates/kubernetes/tests/programs");
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", programs.display());
    // What the replaced `kubectl` answers.
    let cluster = tempfile::tempdir().unwrap();
    let at = |name: &str| cluster.path().join(name);
    std::fs::write(at("now"), "2026-06-10T00:00:00Z").unwrap();
    let namespace = |name: &str, run: &str| {
        serde_json::json!({"metadata": {"name": name, "uid": "u-1", "creationTimestamp": "2026-06-01T00:00:00Z",
            "labels": {"tare.dev/run": run, "app.kubernetes.io/managed-by": "tare"}, "annotations": {"tare.dev/expires": "1780358400"}}})
    };
    let all = [
        namespace("tare-0123", "tare-0123"),
        namespace("team-payments", "tare-0123"),
    ];
    std::fs::write(
        at("namespaces"),
        serde_json::json!({"items": all}).to_string(),
    )
    .unwrap();
    let clean = |words: &[&str]| {
        let context = [
            "lab",
            "clean",
            "--context",
            cluster.path().to_str().unwrap(),
        ];
        let words = [&context[..], words].concat();
        let said = finish(tare(&words).env("PATH", &path), LIMIT);
        let deleted = std::fs::read_to_string(at("asked")).unwrap();
        let deleted: Vec<String> = deleted
            .lines()
            .filter(|line| line.starts_with("delete"))
            .map(str::to_owned)
            .collect();
        (said.status.code(), stderr(&said), deleted)
    };
    let (code, said, deleted) = clean(&[]);
    assert_eq!((code, deleted.len()), (Some(2), 0), "{said}");
    assert!(
        said.contains("would delete the namespace tare-0123,"),
        "{said}"
    );
    assert!(said.contains("team-payments stays"), "{said}");
    let (code, said, deleted) = clean(&["--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        deleted.iter().all(|line| line.contains("tare-0123")) && !deleted.is_empty(),
        "{deleted:?}"
    );
}
