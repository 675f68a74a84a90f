//! Whole runs of the real binary against a service that runs already: what is counted there, what is not proved, and that it is left alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use rig::{
    Started, finish, keeper_of, kept_by, kill, metric, only_run, origin, origin_with_counters,
    records, state, stderr, stdout, tare, turn, wait_for,
};
use tare_record::record::{EnvironmentRecord, RunProgress, TrialRecord, TrialStatus};

/// Longest that a small run may take here before the test gives up.
const LIMIT: Duration = Duration::from_secs(120);

const SIDECAR: &str = "sidecars: {on: [client], proxy: haproxy}";

/// An experiment file in front of a server that is written so.
fn experiment(folder: &Path, server: &str, window: &str) -> PathBuf {
    let path = folder.join("mine.yaml");
    let text = format!(
        "question: What does a sidecar cost my service?\n\
         workload: {{use: echo}}\n\
         arms:\n  - {{name: direct}}\n  - {{name: near, {SIDECAR}}}\n  \
         - {{name: both, sidecars: {{on: [client, server], proxy: haproxy}}}}\n\
         load: {{model: constant, rate: 200, duration: {window}, warmup: 100ms, connections: 4, timeout: 20s}}\n\
         blocks: 1\n{server}"
    );
    fs::write(&path, text).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs an experiment to its end.
fn run(file: &Path, out: &Path, more: &[&str]) -> Output {
    let mut command = tare(&["run", text(file), "--out", text(out)]);
    finish(command.args(more), LIMIT)
}

fn all_held(records: &[TrialRecord]) {
    assert!(!records.is_empty());
    for record in records {
        assert!(
            matches!(record.status, TrialStatus::Fit | TrialStatus::Unfit { .. }),
            "{}: {:?}",
            record.arm,
            record.status
        );
        assert!(record.proofs.iter().all(|proof| proof.passed));
        assert!(record.load[0].ok > 0);
    }
}

fn proof<'a>(record: &'a TrialRecord, instance: &str, what: &str) -> &'a str {
    let mut proofs = record.proofs.iter();
    let found = proofs.find(|proof| proof.instance == instance && proof.check == what);
    let found = found.unwrap_or_else(|| panic!("no {what} of {instance}: {:?}", record.proofs));
    &found.expected
}

#[test]
fn a_service_that_runs_already_is_measured_with_and_without_a_proxy_and_left_alone() {
    let _turn = turn();
    let (mut service, [address, counters]) = origin_with_counters(&[]);
    let folder = tempfile::tempdir().unwrap();
    let page = format!(
        "{{prometheus: {{url: \"http://{counters}/metrics\", metric: tare_origin_requests_total}}}}"
    );
    let server = format!(
        "external:\n  server:\n    address: {address}\n    counters: [{{name: requests, from: {page}}}, {{name: x-served, from: {page}}}]\n"
    );
    let file = experiment(folder.path(), &server, "400ms");
    let out = folder.path().join("runs");

    // What is not proved is in the plan, before anything runs.
    let planned = finish(
        &mut tare(&["plan", text(&file), "--out", text(&out)]),
        LIMIT,
    );
    let planned = stdout(&planned);
    let at_server =
        format!("client->server at server: external: Tare did not start what answers at {address}");
    for words in [
        &format!("client ─▶ client-sidecar (haproxy) ─▶ server (external {address})"),
        &at_server,
        "arm both: needs a sidecar beside server (external), which is not there",
        "each pod a loopback address of its own",
    ] {
        assert!(planned.contains(words), "{words} in\n{planned}");
    }
    let output = run(&file, &out, &[]);
    let said = stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{said}");
    let begun = said
        .find("trials · records in")
        .unwrap_or_else(|| panic!("{said}"));
    for words in [
        &format!("not proved, {at_server}"),
        "arm both is skipped: needs a sidecar beside server (external)",
    ] {
        assert!(
            said.find(words).is_some_and(|at| at < begun),
            "{words} in\n{said}"
        );
    }

    let run = only_run(&out).unwrap();
    let records = records(&run);
    all_held(&records);
    let sent: u64 = records
        .iter()
        .map(|record| record.load[0].requests_sent_total)
        .sum();
    assert_eq!(sent, metric(&counters, "tare_origin_requests_total"));
    for record in &records {
        let [one] = record.not_proved.as_slice() else {
            panic!("{:?}", record.not_proved);
        };
        assert!(
            one.reason.contains("count other callers, too"),
            "{}",
            one.reason
        );
        let sent = record.load[0].requests_sent_total;
        assert_eq!(
            proof(record, "server", "requests"),
            format!("at least {sent}")
        );
        if record.arm == "near" {
            assert_eq!(
                proof(record, "client-sidecar", "requests"),
                sent.to_string()
            );
        }
        // What it says of itself is told, and what it does not say is not known.
        let told = record
            .target_counters
            .iter()
            .find(|told| told.name == "served")
            .unwrap();
        assert_eq!(
            (told.instance.as_str(), told.value),
            ("server", sent as f64)
        );
        let server = record
            .instances
            .iter()
            .find(|part| part.instance == "server")
            .unwrap();
        assert_eq!((server.cpu_ns, server.rss_peak_bytes), (None, None));
        assert_eq!(server.software, format!("external {address}"));
        let machine = record.machine.as_ref().unwrap();
        assert_eq!(
            (machine.background, machine.background_cpu_ns),
            (None, None)
        );
    }
    let environment = fs::read(run.join("environment.json")).unwrap();
    let environment: EnvironmentRecord = serde_json::from_slice(&environment).unwrap();
    assert_eq!(environment.addressing, "loopback");
    assert!(
        environment
            .facts
            .contains_key(&format!("external {address}"))
    );
    let told = stdout(&output)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for words in [
        "NOT PROVED in direct and near: client->server at server: external:",
        "server is external: CPU and memory there is not known",
    ] {
        assert!(told.contains(words), "{words} in\n{told}");
    }
    assert!(!told.contains("Path not verified"), "{told}");
    // Nobody has ended it.
    assert!(service.0.try_wait().unwrap().is_none());
    assert!(metric(&counters, "tare_origin_requests_total") > 0);
}

#[test]
fn an_experiment_of_the_library_runs_in_front_of_a_server_that_the_command_line_names() {
    let _turn = turn();
    let (mut service, address) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "", "300ms");
    let out = folder.path().join("runs");
    let output = run(
        &file,
        &out,
        &["--external", &format!("server={address}"), "--no-aa"],
    );
    let said = stderr(&output);
    let run = only_run(&out).unwrap_or_else(|| panic!("{said}"));
    let records = records(&run);
    all_held(&records);
    let arms: Vec<&str> = records.iter().map(|record| record.arm.as_str()).collect();
    assert!(
        arms.contains(&"direct") && arms.contains(&"near"),
        "{arms:?}"
    );
    assert!(!arms.contains(&"both"));
    for record in &records {
        assert!(
            record.not_proved[0]
                .reason
                .contains("no counter there says what arrived")
        );
        let at_server = record.proofs.iter().any(|proof| proof.instance == "server");
        assert!(!at_server, "nothing is claimed of what nobody counts");
    }
    assert!(service.0.try_wait().unwrap().is_none());
}

#[test]
fn the_tls_that_an_external_server_speaks_is_proved_by_the_agents_own_handshakes() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("ca.pem");
    let (_service, [address, counters]) =
        origin_with_counters(&["--tls", "--ca-out", text(&authority)]);
    let server = format!("external: {{server: {{address: {address}, tls: {{ca: ca.pem}}}}}}\n");
    let file = experiment(folder.path(), &server, "300ms");
    let out = folder.path().join("runs");
    let output = run(&file, &out, &["--no-aa"]);
    let said = stderr(&output);
    let run = only_run(&out).unwrap_or_else(|| panic!("{said}"));
    let records = records(&run);
    all_held(&records);
    for record in &records {
        let opened = record.load[0].connections.opened;
        assert_eq!(
            proof(record, "client", "tls-handshakes"),
            opened.to_string()
        );
        assert_eq!(proof(record, "client", "tls-version"), "one");
        let host = &record.endpoints[0].host;
        assert_eq!(*host, address, "callers name it as it is written");
        if record.arm == "near" {
            // Nobody between can look inside.
            assert_eq!(
                proof(record, "client-sidecar", "connections"),
                opened.to_string()
            );
        }
    }
    assert!(metric(&counters, "tare_origin_tls_handshakes_total") > 0);
    // Without its authority nothing is believed, and nothing measured.
    let plain = experiment(
        folder.path(),
        &server.replace("{ca: ca.pem}", "{}"),
        "300ms",
    );
    let out = folder.path().join("again");
    let output = self::run(&plain, &out, &["--no-aa"]);
    let records = rig::records(&only_run(&out).unwrap());
    let failed = |record: &TrialRecord| matches!(record.status, TrialStatus::Failed { .. });
    assert!(records.iter().all(failed), "{}", stderr(&output));
}

#[test]
fn a_service_that_is_down_is_told_with_the_next_step_before_the_first_block() {
    let _turn = turn();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    // A connection that came in there holds the port: nobody else gets it, and nobody listens.
    let _caller = TcpStream::connect(address).unwrap();
    let _taken = closed.accept().unwrap();
    drop(closed);
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(
        folder.path(),
        &format!("external: {{server: {address}}}\n"),
        "300ms",
    );
    let out = folder.path().join("runs");
    let output = run(&file, &out, &[]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains(&format!(
            "server (external, {address}): no connection to {address}"
        )),
        "{said}"
    );
    assert!(said.contains("start it, or correct its address"), "{said}");
    assert!(!out.exists(), "something was measured");
}

#[test]
fn load_goes_to_no_public_address_unless_the_command_line_allows_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(
        folder.path(),
        "external: {server: 203.0.113.7:80}\n",
        "300ms",
    );
    let output = finish(&mut tare(&["plan", text(&file)]), LIMIT);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("mine.yaml:9:20: 203.0.113.7 is neither"),
        "{said}"
    );
    let output = finish(
        &mut tare(&["plan", text(&file), "--allow-public-target"]),
        LIMIT,
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // A file cannot allow it itself.
    let server = "external: {server: {address: 203.0.113.7:80, allow_public_target: true}}\n";
    let file = experiment(folder.path(), server, "300ms");
    let output = finish(&mut tare(&["plan", text(&file)]), LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_service_that_dies_in_the_middle_fails_trials_with_the_reason_and_nothing_hangs() {
    let _turn = turn();
    let (mut service, address) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    // Long enough that the trial is still under way when the end comes.
    let file = experiment(
        folder.path(),
        &format!("external: {{server: {address}}}\n"),
        "3s",
    );
    let out = folder.path().join("runs");
    let child = tare(&["run", text(&file), "--out", text(&out), "--no-aa"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut child = Started(child);
    wait_for(LIMIT, "trial under way", || {
        let processes = kept_by(keeper_of(child.0.id())?);
        let agent = processes.iter().any(|(_, words)| words.contains(" agent "));
        agent.then_some(())
    });
    kill(service.0.id(), "KILL");
    service.0.wait().unwrap();
    wait_for(LIMIT, "end of the run", || child.0.try_wait().unwrap());
    let run = only_run(&out).unwrap();
    let records = records(&run);
    assert_eq!(records.len(), 4, "two arms, each repeated: {records:#?}");
    for (number, record) in records.iter().enumerate() {
        let TrialStatus::Failed { reason, .. } = &record.status else {
            panic!("{:?}", record.status);
        };
        // In the first trial it may have ended before the agent was connected: then the agent says so.
        let by_agent = number == 0 && reason.contains("nothing listens there");
        assert!(
            reason.contains(&address)
                && (by_agent || reason.contains("takes no connection any more")),
            "{reason}"
        );
    }
    assert_eq!(state(&run).state, RunProgress::Complete);
}
