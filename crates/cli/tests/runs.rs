//! Whole runs of the real binary with real proxies: proof of path, faults, kill and resume.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rig::{
    finish, keeper_folders, keeper_of, kept_by, kill, only_run, records, small_experiment, state,
    stderr, stdout, tare, turn, wait_for,
};
use serde_json::Value;
use tare_record::record::{RunProgress, TrialStatus};

/// Longest that a small run may take here before the test gives up: beside other programs each trial may be unfit, and is then repeated.
const LIMIT: Duration = Duration::from_secs(300);

/// An experiment file with these arms, a short window and so many blocks.
fn experiment(folder: &Path, arms: &str, blocks: u32) -> PathBuf {
    small_experiment("400ms", folder, arms, blocks)
}

const PROXIES: &str = "  \
  - {name: envoy-mtls, sidecars: {on: [client, server], proxy: envoy, security: mtls}}\n  \
  - {name: nginx, sidecars: {on: [client], proxy: nginx}}\n  \
  - {name: haproxy-mtls, sidecars: {on: [client, server], proxy: haproxy, security: mtls}}\n";

const HAPROXY: &str = "  - {name: sidecar, sidecars: {on: [client], proxy: haproxy}}\n";
const NGINX: &str = "  - {name: sidecar, sidecars: {on: [client], proxy: nginx}}\n";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn real_envoy_nginx_and_haproxy_carry_exactly_what_was_sent_and_the_run_ends_with_a_report() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), PROXIES, 3);
    let out = folder.path().join("runs");
    let output = finish(&mut tare(&["run", text(&file), "--out", text(&out)]), LIMIT);
    let said = stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{said}");

    let run = only_run(&out).unwrap();
    assert_eq!(state(&run).state, RunProgress::Complete);
    let records = records(&run);
    for block in 1..=3 {
        let first: Vec<_> = records
            .iter()
            .filter(|record| record.block == block && record.attempt == 0)
            .collect();
        assert_eq!(
            first.len(),
            5,
            "block {block}: three proxies, the baseline twice"
        );
    }
    for record in &records {
        assert!(
            matches!(record.status, TrialStatus::Fit | TrialStatus::Unfit { .. }),
            "{} in block {}: {:?}",
            record.arm,
            record.block,
            record.status
        );
        assert!(record.proofs.iter().all(|proof| proof.passed));
        assert!(record.load[0].ok > 0);
    }
    let of = |arm: &str| records.iter().find(|record| record.arm == arm).unwrap();
    let sent = of("nginx").load[0].requests_sent_total.to_string();
    let proof = of("nginx")
        .proofs
        .iter()
        .find(|p| p.instance == "client-sidecar");
    assert_eq!(proof.unwrap().actual, sent);
    for arm in ["envoy-mtls", "haproxy-mtls"] {
        let version = of(arm).proofs.iter().find(|p| p.check == "tls-version");
        assert_eq!(version.unwrap().actual, "TLSv1.3", "{arm}");
        let parts: Vec<&str> = of(arm)
            .instances
            .iter()
            .map(|p| p.instance.as_str())
            .collect();
        for part in ["client", "client-sidecar", "server", "server-sidecar"] {
            assert!(parts.contains(&part), "{arm} has no {part} among {parts:?}");
        }
    }

    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("envoy-mtls") && !page.contains("http-equiv=\"refresh\""));
    let told = stdout(&output);
    assert!(told.contains("report:"), "{told}");
    assert!(
        said.contains("provisional"),
        "a first table after the first block:\n{said}"
    );
    assert_no_key_in(&run);
}

/// No private key is left in the run folder.
fn assert_no_key_in(run: &Path) {
    let mut open = vec![run.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let text = fs::read(&path).unwrap();
                let text = String::from_utf8_lossy(&text);
                assert!(!text.contains("PRIVATE KEY"), "a key in {}", path.display());
            }
        }
    }
}

#[test]
fn a_proxy_in_a_folder_of_the_users_own_runs_without_recompiling() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    // A user's own proxy: another name, another way to say where its program is.
    let own = folder.path().join("targets/my-proxy");
    fs::create_dir_all(&own).unwrap();
    for entry in fs::read_dir(rig::root().join("targets/haproxy")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, own.join(path.file_name().unwrap())).unwrap();
        }
    }
    let definition = fs::read_to_string(own.join("target.yaml")).unwrap();
    let renamed = definition.replace("target: haproxy", "target: my-proxy");
    assert_ne!(renamed, definition);
    fs::write(own.join("target.yaml"), renamed).unwrap();

    let arms = "  - {name: mine, sidecars: {on: [client], proxy: my-proxy}}\n";
    let file = experiment(folder.path(), arms, 1);
    let out = folder.path().join("runs");
    let targets = folder.path().join("targets");
    let mut command = tare(&["run", text(&file), "--out", text(&out), "--no-aa"]);
    let output = finish(command.args(["--targets", text(&targets)]), LIMIT);
    let run = only_run(&out).unwrap_or_else(|| panic!("{}", stderr(&output)));
    let mine: Vec<_> = records(&run)
        .into_iter()
        .filter(|r| r.arm == "mine")
        .collect();
    assert!(!mine.is_empty(), "{}", stderr(&output));
    let proof = mine[0]
        .proofs
        .iter()
        .find(|p| p.instance == "client-sidecar");
    assert_eq!(
        proof.unwrap().actual,
        mine[0].load[0].requests_sent_total.to_string()
    );
}

#[test]
fn a_killed_run_leaves_nothing_behind_and_resumes_as_if_it_had_never_been_killed() {
    let _turn = turn();
    // Moments spread over the start, the first block, the bed changes and the later blocks.
    for after_trials in [0, 1, 3, 5] {
        let folder = tempfile::tempdir().unwrap();
        let file = experiment(folder.path(), NGINX, 3);
        let out = folder.path().join("runs");
        let child = tare(&["run", text(&file), "--out", text(&out)])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut child = rig::Started(child);
        let (run, keeper) = wait_for(LIMIT, "trial under way", || {
            let run = only_run(&out)?;
            let keeper = keeper_of(child.0.id())?;
            // The keeper, a server and an agent at least.
            let is_busy = records(&run).len() >= after_trials && kept_by(keeper).len() >= 3;
            is_busy.then_some((run, keeper))
        });
        kill(child.0.id(), "KILL");
        child.0.wait().unwrap();
        wait_for(LIMIT, "end of all processes", || {
            (kept_by(keeper).is_empty() && keeper_folders(keeper).is_empty()).then_some(())
        });
        let kept = records(&run);
        assert!(kept.len() >= after_trials, "a record was lost");
        let complete_before = complete_blocks(&kept);

        let output = finish(&mut tare(&["run", "--resume", text(&run)]), LIMIT);
        assert!(
            matches!(output.status.code(), Some(0 | 1 | 4)),
            "{}",
            stderr(&output)
        );
        let after = records(&run);
        assert_eq!(state(&run).state, RunProgress::Complete);
        assert_eq!(complete_blocks(&after), [1, 2, 3]);
        for record in kept.iter().filter(|r| complete_before.contains(&r.block)) {
            let now = after
                .iter()
                .find(|other| other.trial == record.trial)
                .unwrap();
            assert_eq!(record, now, "a complete block was touched");
        }
    }
}

/// Blocks with a record that counts, or was repeated, for all three slots of `NGINX`.
fn complete_blocks(records: &[tare_record::record::TrialRecord]) -> Vec<u32> {
    let slots = [("direct", 0), ("direct", 1), ("sidecar", 0)];
    (1..=3)
        .filter(|block| {
            slots.iter().all(|(arm, copy)| {
                records.iter().any(|r| {
                    r.block == *block
                        && r.arm == *arm
                        && r.aa_copy == *copy
                        && !r.superseded
                        && (r.status.is_fit() || r.attempt > 0)
                })
            })
        })
        .collect()
}

#[test]
fn a_proxy_that_is_killed_mid_trial_fails_that_trial_and_the_run_goes_on() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    // Long enough that the trial is still under way when the kill comes.
    let file = small_experiment("3s", folder.path(), HAPROXY, 2);
    let out = folder.path().join("runs");
    let child = tare(&["run", text(&file), "--out", text(&out), "--no-aa"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = rig::Started(child);
    // An agent beside a proxy: the trial is under way.
    let proxies = wait_for(LIMIT, "trial with the proxy", || {
        let processes = kept_by(keeper_of(child.0.id())?);
        let proxies: Vec<u32> = processes
            .iter()
            .filter(|(_, words)| words.contains("haproxy"))
            .map(|(pid, _)| *pid)
            .collect();
        let agent = processes.iter().any(|(_, words)| words.contains(" agent "));
        (agent && !proxies.is_empty()).then_some(proxies)
    });
    proxies.iter().for_each(|pid| kill(*pid, "KILL"));
    wait_for(LIMIT, "end of the run", || child.0.try_wait().unwrap());
    let run = only_run(&out).unwrap();
    let records = records(&run);
    let failed: Vec<_> = records
        .iter()
        .filter(|record| matches!(record.status, TrialStatus::Failed { .. }))
        .collect();
    assert_eq!(failed.len(), 1, "{records:#?}");
    assert_eq!((failed[0].arm.as_str(), failed[0].attempt), ("sidecar", 0));
    let repeated = records
        .iter()
        .find(|r| r.block == failed[0].block && r.arm == "sidecar" && r.attempt == 1);
    assert!(repeated.is_some_and(|record| record.load[0].ok > 0));
    assert_eq!(state(&run).state, RunProgress::Complete);
}

#[test]
fn what_an_arm_needs_and_is_not_there_is_said_before_anything_is_measured() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let arms = format!("{NGINX}  - {{name: far, requires: a cluster}}\n");
    let file = experiment(folder.path(), &arms, 1);
    let out = folder.path().join("runs");
    let output = finish(&mut tare(&["run", text(&file), "--out", text(&out)]), LIMIT);
    let said = stderr(&output);
    let left_out = said.find("arm far is skipped: needs a cluster, which is not there");
    let begun = said
        .find("trials · records in")
        .unwrap_or_else(|| panic!("{said}"));
    assert!(left_out.is_some_and(|at| at < begun), "{said}");
}

#[test]
fn a_run_tells_its_trials_line_by_line_and_ends_with_its_result() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), NGINX, 1);
    let out = folder.path().join("runs");
    let words = ["run", text(&file), "--out", text(&out), "--json-lines"];
    let output = finish(&mut tare(&words), LIMIT);
    let said = stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{said}");
    let printed = stdout(&output);
    let lines: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let count = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    let run = only_run(&out).unwrap();
    assert_eq!(count("started"), 1, "{printed}");
    assert_eq!(count("trial-done"), records(&run).len());
    assert_eq!(count("block-done"), 1);
    assert_eq!(count("result"), 1);
    let last = lines.last().unwrap();
    assert_eq!(last["event"], "result");
    let id = run.file_name().unwrap().to_str().unwrap();
    assert_eq!(last["run"]["id"], id);
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_says_how_to_go_on() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), NGINX, 9);
    let out = folder.path().join("runs");
    let child = tare(&["run", text(&file), "--out", text(&out)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let run = wait_for(LIMIT, "four trials", || {
        only_run(&out).filter(|run| records(run).len() >= 4)
    });
    kill(pid, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("--resume"));
    assert!(stdout(&output).contains("report:"));
    assert!(records(&run).len() >= 4);
    assert_eq!(state(&run).state, RunProgress::Interrupted);
}

#[test]
fn wrong_experiments_are_refused_with_place_and_advice_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let base = "question: q\nworkload: {use: echo}\narms:\n  - {name: direct}\n  - {name: b, sidecars: {on: [client], proxy: nginx}}\nload: {model: constant, rate: 10, duration: 1s}\nblocks: 1\n";
    let cases = [
        ("blocks: 1", "blockz: 1", "blocks"),
        ("name: b,", "name: direct,", "direct"),
        ("rate: 10", "rate: 0", "above 0"),
        ("duration: 1s", "duration: -1s", "negative"),
        ("proxy: nginx", "proxy: nginks", "nginx"),
        ("on: [client]", "on: [klient]", "client"),
        ("use: echo", "use: ecko", "echo"),
    ];
    for (right, wrong, advice) in cases {
        let file = folder.path().join("wrong.yaml");
        assert!(base.contains(right));
        fs::write(&file, base.replace(right, wrong)).unwrap();
        let out = folder.path().join("runs");
        let output = finish(&mut tare(&["run", text(&file), "--out", text(&out)]), LIMIT);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {said}");
        assert!(said.contains("wrong.yaml:"), "{wrong}: no place in {said}");
        assert!(said.contains(advice), "{wrong}: no advice in {said}");
        assert!(!out.exists(), "{wrong}: something was started");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_said_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), NGINX, 1);
    let blocked = folder.path().join("blocked");
    fs::write(&blocked, "a file where the folder should be").unwrap();
    let output = finish(
        &mut tare(&["run", text(&file), "--out", text(&blocked)]),
        LIMIT,
    );
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("--out"), "{}", stderr(&output));
}
