//! Istio itself, without a cluster: configured by its control plane, proved by its proxies' statistics, and while that is away.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use rig::{
    Holder, finish, keeper_of, kept_by, kill, of_arm, only_run, run_experiment, run_experiment_by,
    stderr, tare, tare_without_network, turn, wait_for,
};
use serde_json::Value;
use tare_record::record::{Proof, TrialRecord, TrialStatus};

/// Longest that a small run may take here before the test gives up; a first build of Istio's programs is in it.
const LIMIT: Duration = Duration::from_secs(1500);

/// A small run of one block.
fn run(folder: &Path, workload: &str, arms: &[(&str, String)], rest: &str) -> Vec<TrialRecord> {
    run_experiment(folder, &experiment(workload, arms, rest), &[], LIMIT)
}

fn experiment(workload: &str, arms: &[(&str, String)], rest: &str) -> String {
    let arms: Vec<String> = arms
        .iter()
        .map(|(name, more)| format!("  - {{name: {name}, {more}}}\n"))
        .collect();
    format!(
        "question: Is it the mesh itself?\n\
         workload: {workload}\n\
         addressing: namespaces\n\
         arms:\n{}\
         {rest}\
         aa_check: false\n\
         blocks: 1\n\
         seed: 11\n",
        arms.concat()
    )
}

/// Every proof of a trial has passed, and every request was answered.
fn is_proved(record: &TrialRecord) {
    let failed: Vec<&Proof> = record.proofs.iter().filter(|proof| !proof.passed).collect();
    let is_valid = matches!(record.status, TrialStatus::Fit | TrialStatus::Unfit { .. });
    assert!(is_valid, "{}: {:?} {failed:?}", record.arm, record.status);
    assert!(failed.is_empty(), "{}: {failed:?}", record.arm);
    assert!(record.load[0].ok > 0, "{}", record.arm);
    assert_eq!(record.load[0].errors, 0, "{}", record.arm);
}

/// What a proof of an instance found.
fn actual<'a>(record: &'a TrialRecord, instance: &str, check: &str) -> Option<&'a str> {
    let mut proofs = record.proofs.iter();
    let found = proofs.find(|proof| proof.instance == instance && proof.check == check)?;
    Some(&found.actual)
}

#[test]
fn istio_itself_stands_between_two_services_and_every_feature_of_it_is_proved() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let settings = "settings: {access_log: true, authorization: true, key_exchange: x25519, workload_keys: ecdsa}";
    let arms = [
        ("istio", String::from("mesh: istio")),
        (
            "features",
            format!("mesh: {{use: istio, replicas: 2, {settings}}}"),
        ),
        (
            "plaintext",
            String::from("mesh: {use: istio, security: plaintext}"),
        ),
    ];
    let load = "load: {model: constant, rate: 200, duration: 1s, warmup: 200ms, connections: 4, timeout: 20s}\n";
    let records = run(folder.path(), "echo", &arms, load);
    for (arm, _) in &arms {
        let record = of_arm(&records, arm);
        is_proved(record);
        for sidecar in ["client-sidecar", "server-sidecar"] {
            assert!(
                actual(record, sidecar, "requests").is_some(),
                "{arm}: {sidecar}"
            );
        }
        let role = |name: &str| {
            let mut all = record.instances.iter();
            all.find(|one| one.instance == name)
                .map(|one| one.role.as_str())
        };
        assert_eq!(role("kubernetes-api"), Some("support"), "{arm}");
        let istiod = if *arm == "features" {
            "istiod-2"
        } else {
            "istiod"
        };
        assert_eq!(role(istiod), Some("control-plane"), "{arm}");
        assert_eq!(
            actual(record, istiod, "config-rejections"),
            Some("0"),
            "{arm}"
        );
    }
    let identity = |arm: &str| actual(of_arm(&records, arm), "server", "caller-identities");
    let client = "spiffe://cluster.local/ns/tare/sa/client";
    assert_eq!(identity("istio"), Some(client));
    assert_eq!(identity("features"), Some(client));
    assert_eq!(identity("plaintext"), None);
    let tls = |arm: &str, check: &str| {
        actual(of_arm(&records, arm), "server-sidecar", check).map(str::to_owned)
    };
    assert_eq!(tls("istio", "tls-version").as_deref(), Some("TLSv1.3"));
    assert_eq!(
        tls("istio", "tls-no-client-certificate").as_deref(),
        Some("0")
    );
    assert_eq!(tls("istio", "tls-group").as_deref(), Some("X25519MLKEM768"));
    assert_eq!(tls("features", "tls-group").as_deref(), Some("X25519"));
    assert_eq!(tls("plaintext", "tls-handshakes").as_deref(), Some("0"));
    // Its access log is that of Istio's format, and no secret of a proxy is kept.
    let run = only_run(&folder.path().join("runs")).unwrap();
    let beds = fs::read_dir(run.join("testbeds")).unwrap();
    let mut beds = beds.map(|bed| bed.unwrap().path());
    let bed = beds.find(|bed| bed.to_string_lossy().contains("-features-"));
    let bed = bed.unwrap();
    let log = fs::read_to_string(bed.join("server-sidecar/access.log")).unwrap();
    assert!(log.contains("inbound|"), "{log}");
    let tokens = fs::read_to_string(bed.join("kubernetes-api/tokens.json")).unwrap();
    assert!(tokens.contains("[withheld]"), "{tokens}");
}

#[test]
fn five_ways_to_a_database_through_istio_are_taken_and_proved() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let mesh = "mesh: {use: istio, on: services}";
    let gateway = |hops: &str| format!("{mesh}, via: {{\"*->database\": [{hops}]}}");
    let mtls = "{hop: gateway, proxy: istio, security: mtls}";
    let sni = "{hop: sni, proxy: nginx, pod: gateway}";
    let arms = [
        (
            "bypass",
            mesh.replace("services}", "services, exclude: [\"*->database\"]}"),
        ),
        ("sidecar", mesh.to_owned()),
        ("gateway", gateway("{hop: gateway, proxy: istio}")),
        ("gateway-mtls", gateway(mtls)),
        ("gateway-sni", gateway(&format!("{mtls}, {sni}"))),
    ];
    let rest = "targets: {acmeair: {customers: 200}}\n\
        load: {use: query, model: constant, rate: 40, duration: 500ms, warmup: 100ms, connections: 4, timeout: 20s}\n";
    let records = run(
        folder.path(),
        "{use: acmeair, database: origin}",
        &arms,
        rest,
    );
    for (arm, _) in &arms {
        let record = of_arm(&records, arm);
        is_proved(record);
        let through = arm.starts_with("gateway");
        assert_eq!(
            actual(record, "gateway", "connections").is_some(),
            through,
            "{arm}"
        );
        let wrapped = ["gateway-mtls", "gateway-sni"].contains(arm);
        assert_eq!(
            actual(record, "gateway", "tls-version").is_some(),
            wrapped,
            "{arm}"
        );
        assert_eq!(
            actual(record, "sni", "connections").is_some(),
            *arm == "gateway-sni",
            "{arm}"
        );
    }
}

#[test]
fn no_network_is_needed_after_the_fetch() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let mut fetch = tare(&[
        "targets",
        "fetch",
        "istiod",
        "istio-proxy",
        "kubernetes-api",
    ]);
    let fetched = finish(&mut fetch, LIMIT);
    assert!(fetched.status.success(), "{}", stderr(&fetched));
    let arms = [
        ("direct", String::from("about: no mesh")),
        ("istio", String::from("mesh: istio")),
    ];
    let load = "load: {model: constant, rate: 100, duration: 1s, warmup: 200ms, connections: 4, timeout: 20s}\n";
    let text = experiment("echo", &arms, load);
    let records = run_experiment_by(tare_without_network(&["run"]), folder.path(), &text, LIMIT);
    is_proved(of_arm(&records, "istio"));
}

#[test]
fn rejections_are_said_in_their_words_and_a_killed_agent_leaves_nothing_behind() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let objects = folder.path().join("objects");
    fs::create_dir(&objects).unwrap();
    let filter = |ciphers: &str| {
        format!(
            r#"apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {{name: ciphers, namespace: tare}}
spec:
  configPatches:
  - applyTo: CLUSTER
    match: {{context: SIDECAR_OUTBOUND, cluster: {{service: server.tare.svc.cluster.local}}}}
    patch:
      operation: MERGE
      value:
        transport_socket:
          name: envoy.transport_sockets.tls
          typed_config:
            "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
            common_tls_context: {{tls_params: {{cipher_suites: [{ciphers}]}}}}
"#
        )
    };
    fs::write(objects.join("filter.yaml"), filter("NONSENSE")).unwrap();
    let log = folder.path().join("said");
    let mut up = tare(&["lab", "up", "istio", "--objects", objects.to_str().unwrap()]);
    up.stdout(Stdio::null())
        .stderr(fs::File::create(&log).unwrap());
    let mut lab = Holder(up.spawn().unwrap());
    let line_with = |words: &str| {
        wait_for(LIMIT, words, || {
            let said = fs::read_to_string(&log).unwrap();
            said.lines()
                .find(|line| line.contains(words))
                .map(str::to_owned)
        })
    };
    line_with("Failed to initialize cipher suites NONSENSE");
    fs::write(objects.join("filter.yaml"), filter("[")).unwrap();
    line_with("rejected (istiod): user-filter.yaml: ");
    // Envoy may outlive a killed pilot-agent, but not the test bed.
    let standing = finish(&mut tare(&["lab", "ps", "--json"]), LIMIT);
    let standing: Vec<Value> = serde_json::from_slice(&standing.stdout).unwrap();
    let own = |one: &&Value| one["owner_pid"] == lab.0.id();
    let processes = &standing.iter().find(own).unwrap()["processes"];
    let mut processes = processes.as_array().unwrap().iter();
    let agent = processes.find(|one| one["instance"] == "server-sidecar");
    let agent = agent.unwrap()["pid"].as_u64().unwrap();
    kill(u32::try_from(agent).unwrap(), "KILL");
    line_with("server-sidecar ended");
    let keeper = keeper_of(lab.0.id()).unwrap();
    assert!(!kept_by(keeper).is_empty());
    kill(lab.0.id(), "TERM");
    assert!(lab.0.wait().unwrap().success());
    assert_eq!(kept_by(keeper), Vec::new());
}

#[test]
fn http_passes_a_gateway_of_istio_and_the_server_is_told_that_it_did() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let through = |security: &str| {
        format!(
            "mesh: istio, via: {{\"client->server\": [{{hop: gateway, proxy: istio, security: {security}}}]}}"
        )
    };
    let arms = [
        ("mtls", through("mtls")),
        ("plaintext", through("plaintext")),
    ];
    let load = "load: {model: constant, rate: 100, duration: 1s, warmup: 200ms, connections: 4, timeout: 20s}\n";
    let records = run(folder.path(), "echo", &arms, load);
    for (arm, _) in &arms {
        let record = of_arm(&records, arm);
        is_proved(record);
        assert!(actual(record, "gateway", "requests").is_some(), "{arm}");
        let caller = actual(record, "server", "caller-identities");
        let gateway = "spiffe://cluster.local/ns/istio-system/sa/gateway";
        assert_eq!(caller, Some(gateway), "{arm}");
    }
}

#[test]
fn traffic_goes_on_while_istiod_is_away_and_changes_wait_for_it() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let arms = [("istio", String::from("mesh: istio"))];
    let rest = "load: {model: constant, rate: 100, duration: 10s, warmup: 200ms, connections: 4, timeout: 20s}\n\
        faults: [{at: 1s, change: istiod}, {at: 3s, kill: istiod}, {at: 4s, change: istiod}, {at: 5s, start: istiod}, {at: 8s, change: istiod}]\n";
    let records = run(folder.path(), "echo", &arms, rest);
    let record = of_arm(&records, "istio");
    assert_eq!(record.load[0].errors, 0, "{:?}", record.load[0]);
    assert!(record.load[0].ok >= 900, "{:?}", record.load[0].ok);
    let results: Vec<(&str, bool, &str)> = record
        .faults
        .iter()
        .map(|fault| (fault.action.as_str(), fault.failed, fault.result.as_str()))
        .collect();
    let [first, _kill, away, _start, last] = results.as_slice() else {
        panic!("{results:?}");
    };
    assert!(
        !first.1 && first.2.contains("2 proxies have it"),
        "{results:?}"
    );
    assert!(away.1 && away.2.contains("does not run"), "{results:?}");
    assert!(!last.1 && last.2.contains("proxies have it"), "{results:?}");
}

#[test]
fn a_mesh_whose_software_cannot_be_fetched_is_listed_with_where_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mesh.yaml");
    let text = "question: Is it there?\nworkload: echo\naddressing: namespaces\n\
        arms: [{name: direct}, {name: linkerd, mesh: linkerd}]\nload: {rate: 100, duration: 1s}\n";
    fs::write(&file, text).unwrap();
    let plan = |program: Option<&str>| -> Output {
        let mut command = tare(&["plan", file.to_str().unwrap()]);
        command.env("PATH", "/usr/bin:/bin");
        match program {
            Some(program) => command.env("TARE_BINARY_LINKERD_PROXY", program),
            None => command.env_remove("TARE_BINARY_LINKERD_PROXY"),
        };
        finish(&mut command, LIMIT)
    };
    let without = plan(None);
    let said = String::from_utf8_lossy(&without.stdout).replace("\n", " ");
    assert!(without.status.success(), "{}", stderr(&without));
    assert!(said.contains("TARE_BINARY_LINKERD_PROXY"), "{said}");
    // A wrong program is an error, not a missing one.
    let wrong = plan(Some("/bin/true"));
    assert!(!wrong.status.success());
    assert!(
        stderr(&wrong).contains("tells no version"),
        "{}",
        stderr(&wrong)
    );
    // So is one of another machine: an executable for RISC-V without anything in it.
    let other = folder.path().join("other");
    let mut header = vec![0_u8; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    header[16..20].copy_from_slice(&[2, 0, 243, 0]);
    fs::write(&other, header).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    let foreign = plan(other.to_str());
    assert!(!foreign.status.success());
    let said = stderr(&foreign);
    assert!(said.contains("is a program for machine 243"), "{said}");
}
