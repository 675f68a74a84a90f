//! Real sidecars to which the kernel sends traffic: each edge is counted as its own, and what is no edge goes where it was going.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod base;
mod beds;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use base::{install, within};
use beds::{COPIES, LIMIT, Rig, Stranger, builtin, copies, echo_from, through_relay, through_two};
use tare_lab::environment::{TestBed, TestBedPlan};
use tare_lab::fetch::Fetcher;
use tare_lab::local::{Local, LocalTestBed};
use tare_lab::targets::Targets;
use tare_record::plan::Addressing;
use tare_record::topology::Interception;

#[test]
fn sidecars_of_both_kinds_take_what_is_sent_to_them_and_pass_on_what_is_no_edge() {
    for proxy in ["haproxy", "envoy"] {
        pass_through(proxy, &Fetcher::from_env().unwrap());
    }
}

/// A user without rights: `nobody`.
const NOBODY: u32 = 65534;

#[test]
fn without_root_sidecars_that_make_their_own_traffic_known_take_redirected_traffic_too() {
    if let Some(copies) = copies() {
        for proxy in ["haproxy", "envoy"] {
            let cache = tempfile::tempdir().unwrap();
            let fetcher = Fetcher {
                cache: cache.path().to_owned(),
                own: beds::rig(),
                chosen: vec![(
                    String::from(proxy),
                    copies.join(proxy).display().to_string(),
                )],
            };
            pass_through(proxy, &fetcher);
        }
        return;
    }
    let name =
        "without_root_sidecars_that_make_their_own_traffic_known_take_redirected_traffic_too";
    let copies = tempfile::tempdir().unwrap();
    let test = std::env::current_exe().unwrap();
    let mut programs = vec![("test", test), ("lab-rig", beds::rig())];
    let targets = Targets::load(&builtin(), &[]).unwrap();
    for proxy in ["haproxy", "envoy"] {
        let fetcher = Fetcher::from_env().unwrap();
        let software = fetcher.provide(targets.get(proxy).unwrap(), &mut |_| {});
        programs.push((proxy, software.unwrap().bin));
    }
    for (name, program) in programs {
        install(&program, &copies.path().join(name));
    }
    let targets = Command::new("cp")
        .args(["--recursive", "--no-preserve=mode"])
        .args([builtin(), copies.path().join("targets")])
        .status();
    assert!(targets.unwrap().success());
    std::fs::set_permissions(copies.path(), Permissions::from_mode(0o777)).unwrap();
    let mut command = Command::new(copies.path().join("test"));
    command
        .args(["--exact", name])
        .current_dir(copies.path())
        .env(COPIES, copies.path())
        .env("TMPDIR", copies.path());
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Three connections along the edge, one to an unrelated server, one to an address that should never be reached.
fn pass_through(proxy: &str, fetcher: &Fetcher) {
    let rig = Rig::new();
    let mut options = rig.with_builtin(fetcher);
    options.addressing = Addressing::Namespaces;
    let mut local = Local::new(options).unwrap();
    let mut bed = local.test_bed(&captured(proxy)).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let pods = bed.pod_processes().unwrap();
    let client = pods.iter().find(|one| one.instance == "client").unwrap();
    let server = pods.iter().find(|one| one.instance == "server").unwrap();
    let (client, at) = (client.pid.unwrap(), server.address.clone());
    let edge = bed.endpoint("client->server", "client").unwrap().addresses[0].port();
    let before = connections(&mut bed);
    for _ in 0..3 {
        assert_eq!(echo_from(client, &at, edge), "hello", "{proxy}");
    }
    let mut after = before;
    assert!(within(LIMIT, || {
        after = connections(&mut bed);
        after == before.map(|count| count + 3.0)
    }));
    // A server that no edge knows, in the same pod: captured on both sides, too, and passed on to where it was called.
    let stranger = Stranger::serve(server.pid.unwrap(), &at);
    assert_eq!(echo_from(client, &at, Stranger::PORT), "hello", "{proxy}");
    drop(stranger);
    assert_eq!(connections(&mut bed), after, "{proxy}");
    // Who calls the capturing port itself is not sent round for ever.
    assert_eq!(echo_from(client, "127.0.0.1", 15001), "", "{proxy}");
    bed.stop().unwrap();
}

#[test]
fn beds_that_are_up_at_once_have_addresses_of_their_own() {
    let rig = Rig::new();
    let mut options = rig.options();
    options.addressing = Addressing::Namespaces;
    let mut local = Local::new(options).unwrap();
    let mut up = |name: &str| {
        let mut plan = through_relay();
        plan.name = name.into();
        let mut bed = local.test_bed(&plan).unwrap();
        bed.start(&mut |_, _| ()).unwrap();
        bed
    };
    let server = |bed: &mut LocalTestBed| {
        let pods = bed.pod_processes().unwrap();
        let server = pods.iter().find(|one| one.instance == "server").unwrap();
        (server.pid.unwrap(), server.address.clone())
    };
    let (mut first, mut second) = (up("first"), up("second"));
    let (pid, at) = server(&mut first);
    let (other, there) = server(&mut second);
    assert_ne!(at, there);
    // They are on one switch, so that one is reached from the other: as itself, and not by either's address.
    let stranger = Stranger::serve(pid, &at);
    assert_eq!(echo_from(other, &at, Stranger::PORT), "hello");
    assert_eq!(echo_from(other, &there, Stranger::PORT), "");
    drop(stranger);
    drop(first);
    let mut third = up("third");
    assert_eq!(
        server(&mut third).1,
        at,
        "what was given back is given again"
    );
}

/// Two sidecars with mutual TLS between them; the kernel sends both their traffic.
fn captured(proxy: &str) -> TestBedPlan {
    let mut plan = through_two(proxy);
    for link in &mut plan.topology.routes[0].segments[..2] {
        link.interception = Interception::Redirect;
    }
    plan
}

/// Connections of the edge, as the client's and the server's sidecar count them.
fn connections(bed: &mut dyn TestBed) -> [f64; 2] {
    let all = bed.counters().unwrap();
    ["client-sidecar", "server-sidecar"].map(|name| {
        let found = all.iter().find(|counters| counters.instance == name);
        let readings = found.unwrap().readings.iter();
        let of_edge = readings.filter(|reading| {
            reading.name == "connections" && reading.edge.as_deref() == Some("client->server")
        });
        of_edge.map(|reading| reading.value).sum()
    })
}
