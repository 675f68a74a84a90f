//! Runs in network namespaces with the real Envoy and HAProxy: redirected traffic, distance, limits, what is observed, and nothing
//! left by a kill.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs::{self, File};
use std::io::BufReader;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rig::{
    finish, keeper_folders, keeper_of, kept_by, kill, only_run, records, small_experiment, stderr,
    stdout, tare, turn, wait_for,
};
use tare_record::record::{EnvironmentRecord, LinkDirectionUsage, TrialRecord, TrialStatus};
use tare_stats::hlog;

/// Longest that a small run may take here before the test gives up.
const LIMIT: Duration = Duration::from_secs(120);

/// A run of an experiment with this addressing.
fn run_in(addressing: &str, file: &Path, out: &Path) -> std::process::Command {
    tare(&[
        "run",
        text(file),
        "--out",
        text(out),
        "--addressing",
        addressing,
    ])
}

/// An experiment with these arms beside the bare one.
fn experiment(folder: &Path, arms: &str) -> PathBuf {
    small_experiment("1s", folder, arms, 1)
}

const EXPLICIT: &str =
    "  - {name: explicit, sidecars: {on: [client, server], proxy: envoy, security: mtls}}\n";
const HAPROXY: &str = "  - {name: haproxy, sidecars: {on: [client, server], proxy: haproxy, security: mtls, interception: redirect}}\n";
const REDIRECT: &str = "  - {name: redirect, sidecars: {on: [client, server], proxy: envoy, security: mtls, interception: redirect}}\n";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn environment(run: &Path) -> EnvironmentRecord {
    let text = fs::read_to_string(run.join("environment.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Packets that left a pod.
fn sent_by(record: &TrialRecord, pod: &str) -> u64 {
    let machine = record.machine.as_ref().unwrap();
    let found = machine.pods.iter().find(|found| found.pod == pod);
    let found = found.unwrap_or_else(|| panic!("{} has no counts of {pod}", record.arm));
    found.packets_out.unwrap()
}

#[test]
fn redirected_and_explicit_traffic_takes_the_same_way_through_real_sidecars_and_is_proven() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), &format!("{EXPLICIT}{REDIRECT}{HAPROXY}"));
    let out = folder.path().join("runs");
    let output = finish(&mut run_in("namespaces", &file, &out), LIMIT);
    let said = stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{said}");
    let run = only_run(&out).unwrap();
    let environment = environment(&run);
    assert_eq!(environment.addressing, "namespaces");
    assert_eq!(environment.facts["addressing"], "asked for");
    let records = records(&run);
    for arm in ["direct", "explicit", "redirect", "haproxy"] {
        let record = records.iter().find(|record| record.arm == arm).unwrap();
        assert!(
            matches!(record.status, TrialStatus::Fit | TrialStatus::Unfit { .. }),
            "{arm}: {:?} {:?}",
            record.status,
            record.proofs
        );
        assert!(record.proofs.iter().all(|proof| proof.passed), "{arm}");
        // Each request leaves the client's pod in a packet at least; the two windows differ at their ends, by less than half of them.
        // Those that a busy machine answered after the window left after it, too.
        let ok = record.load[0].completed_in_window.ok;
        assert!(ok > 0);
        assert!(2 * sent_by(record, "client") >= ok, "{arm}");
        assert!(2 * sent_by(record, "server") >= ok, "{arm}");
        if arm != "direct" {
            let proof = record
                .proofs
                .iter()
                .find(|proof| proof.instance == "server-sidecar" && proof.check == "requests");
            assert!(proof.is_some(), "{arm} has no proof of its server sidecar");
        }
    }
}

/// There and back again between the sites of a test.
const ROUND_TRIP_NS: u64 = 6_000_000;

#[test]
fn a_run_at_two_sites_feels_the_distance_and_records_it_with_what_crossed_it() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), REDIRECT);
    let sites = "addressing: namespaces\n\
         sites:\n  pods: {east: [client], west: [server]}\n  \
         links: [{between: [east, west], round_trip: 6ms}]\n";
    fs::write(&file, fs::read_to_string(&file).unwrap() + sites).unwrap();
    let out = folder.path().join("runs");
    let output = finish(&mut tare(&["run", text(&file), "--out", text(&out)]), LIMIT);
    let said = stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{said}");
    let run = only_run(&out).unwrap();
    let link_rtts = environment(&run).link_rtts;
    let [found] = &link_rtts[..] else {
        panic!("{link_rtts:?}");
    };
    assert_eq!(found.link, "east-west");
    assert!(found.min_ns.unwrap() >= ROUND_TRIP_NS, "{found:?}");
    assert_eq!((found.sent, found.answered), (1100, 1100));
    let records = records(&run);
    for arm in ["direct", "redirect"] {
        let record = records.iter().find(|record| record.arm == arm).unwrap();
        assert!(
            record.proofs.iter().all(|proof| proof.passed),
            "{arm}: {:?}",
            record.proofs
        );
        // Those that a busy machine answered after the window crossed after it, too.
        let ok = record.load[0].completed_in_window.ok;
        assert!(ok > 0, "{arm}: {:?}", record.status);
        let links = &record.machine.as_ref().unwrap().links;
        let [link] = &links[..] else {
            panic!("{arm}: {links:?}");
        };
        let [there, back] = &link.directions[..] else {
            panic!("{arm}: {links:?}");
        };
        assert_eq!(link.link, "east-west");
        assert_eq!((&*there.from, &*there.to), ("east", "west"));
        assert_eq!((&*back.from, &*back.to), ("west", "east"));
        for way in [there, back] {
            assert_carried(way, ok);
        }
        // What made the distance is booked apart from whom it is a part of.
        let part = |role: &str| {
            record
                .instances
                .iter()
                .find(|part| part.role == role)
                .unwrap()
        };
        let (links, conductor) = (part("link"), part("conductor"));
        // Two threads each way.
        assert_eq!(links.threads, Some(4), "{arm}");
        assert!(links.cpu_ns.unwrap() > 0, "{arm}");
        assert!(conductor.cpu_ns.is_some() && conductor.threads.unwrap() > 0);
        // With what is under way on the links; not every kernel lets a peak be set back.
        assert!(
            conductor
                .rss_peak_bytes
                .is_none_or(|peak| peak < 200_000_000)
        );
        let least = least_latency_ns(&run, record.trial);
        // Three digits of it are kept.
        assert!(
            least >= ROUND_TRIP_NS - ROUND_TRIP_NS / 500,
            "{arm}: {least}"
        );
    }
}

/// Each exchange is a packet at least; the two windows differ a little at their ends. Nothing was asked to be dropped.
fn assert_carried(way: &LinkDirectionUsage, exchanges: u64) {
    assert!(2 * way.packets_out >= exchanges, "{way:?}");
    // An empty TCP segment has 40 bytes of headers.
    assert!(way.bytes_out >= 40 * way.packets_out, "{way:?}");
    let dropped = [
        way.lost_packets,
        way.queue_full_packets,
        way.no_buffer_packets,
        way.refused_packets,
    ];
    assert_eq!(dropped, [0; 4], "{way:?}");
    assert_eq!(way.overflowed_packets, Some(0), "{way:?}");
}

/// The shortest latency of a trial.
fn least_latency_ns(run: &Path, trial: u32) -> u64 {
    let log = run.join(format!("trials/{trial:04}/latency.hlog"));
    let log = BufReader::new(File::open(log).unwrap());
    let tags = hlog::read_merged(log, Duration::ZERO..Duration::MAX).unwrap();
    let latency = tags.iter().find(|(tag, _)| tag.ends_with(".latency"));
    latency.unwrap().1.min_ns().unwrap()
}

#[test]
fn a_run_over_a_link_that_loses_packets_killed_at_any_moment_leaves_nothing() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), REDIRECT);
    let sites = "addressing: namespaces\n\
         sites:\n  pods: {east: [client], west: [server]}\n  \
         links: [{between: [east, west], round_trip: 6ms, loss: 1%}]\n";
    fs::write(&file, fs::read_to_string(&file).unwrap() + sites).unwrap();
    let before = devices();
    // While the round trips are sent, while answers are waited for that got lost, and (the last) in the middle of a trial.
    for (round, moment) in [400, 1900, 2700, u64::MAX].into_iter().enumerate() {
        let out = folder.path().join(format!("runs-{round}"));
        let mut run = tare(&["run", text(&file), "--out", text(&out)])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keeper = wait_for(LIMIT, "a keeper", || keeper_of(run.id()));
        if moment == u64::MAX {
            let first = || only_run(&out).filter(|run| !records(run).is_empty());
            let first = wait_for(LIMIT, "a record of the first trial", first);
            let machine = records(&first)[0].machine.clone().unwrap();
            let crossed = |way: &LinkDirectionUsage| way.packets_in > 0 && way.packets_out > 0;
            assert!(
                machine.links[0].directions.iter().all(crossed),
                "{machine:?}"
            );
        } else {
            std::thread::sleep(Duration::from_millis(moment));
        }
        kill(run.id(), "KILL");
        run.wait().unwrap();
        let gone = || {
            let nothing = kept_by(keeper).is_empty() && keeper_folders(keeper).is_empty();
            nothing.then_some(())
        };
        wait_for(LIMIT, "all of it to be gone", gone);
    }
    assert_eq!(devices(), before);
}

/// Network devices of the host.
fn devices() -> usize {
    let text = fs::read_to_string("/proc/self/net/dev").unwrap();
    text.lines().count()
}

#[test]
fn a_part_held_back_by_its_limit_shows_it_in_the_record_and_in_every_report() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("limited.yaml");
    // Clients that never pause want far more than a twentieth of a core of the server, however busy the machine is; with a fiftieth
    // it was not ready in time on a slow one.
    let experiment = "question: What does a limit do, in short?\n\
         workload: {use: echo}\n\
         arms: [{name: direct}]\n\
         compare: levels\n\
         factors: {load.clients: [3, 4]}\n\
         load: {model: closed, duration: 3s, warmup: 100ms, timeout: 2s}\n\
         limits: {server: {cpu: 0.05, memory: 64MiB}}\n\
         aa_check: false\n\
         blocks: 1\n\
         seed: 11\n";
    fs::write(&file, experiment).unwrap();
    let out = folder.path().join("runs");
    let output = finish(&mut tare(&["run", text(&file), "--out", text(&out)]), LIMIT);
    let said = stderr(&output);
    if said.contains("`limits` of server: not possible") {
        let root = fs::metadata("/proc/self").unwrap().uid() == 0;
        assert!(!root, "{said}");
        eprintln!("skipped: control groups cannot be set here: {said}");
        return;
    }
    assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{said}");
    let run = only_run(&out).unwrap();
    let records = records(&run);
    let last = records.last().unwrap();
    let part = |name: &str| {
        last.instances
            .iter()
            .find(|part| part.instance == name)
            .unwrap()
    };
    let server = part("server");
    let periods = server.quota_periods.unwrap();
    // It never wants less than its limit, but where other programs keep it from its core for some of the thirty periods of 100 ms it
    // does not come to it.
    let stopped = server.throttled_periods.unwrap();
    assert!(stopped >= 10 && stopped <= periods, "{server:?}");
    assert!(server.throttled_ns.unwrap() > 0, "{server:?}");
    // A period more may lie at each end, and the kernel hands out its shares in slices of 5 ms.
    let cpu_ns = server.cpu_ns.unwrap();
    let window_ns = last.machine.as_ref().unwrap().window_ns;
    assert!(cpu_ns <= window_ns / 20 + 30_000_000, "{server:?}");
    assert!(server.rss_peak_bytes.unwrap() <= 64 << 20, "{server:?}");
    assert_eq!(part("client").quota_periods, None);
    let report = |form: &str| {
        let shown = finish(&mut tare(&["report", text(&run), form]), LIMIT);
        assert!(shown.status.success(), "{}", stderr(&shown));
        stdout(&shown)
    };
    let csv = report("--csv");
    let throttled = csv.lines().find(|line| line.contains(",throttled,"));
    let throttled: Vec<&str> = throttled.unwrap().split(',').collect();
    assert!(throttled[4].parse::<f64>().unwrap() > 0.0, "{csv}");
    assert!(report("--md").contains("throttled"));
}

#[test]
fn a_proxy_that_cannot_take_redirected_traffic_is_refused_by_name_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let arms =
        "  - {name: sidecar, sidecars: {on: [client], proxy: nginx, interception: redirect}}\n";
    let file = experiment(folder.path(), arms);
    let out = folder.path().join("runs");
    let output = finish(&mut tare(&["run", text(&file), "--out", text(&out)]), LIMIT);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("nginx") && said.contains("interception: explicit"),
        "{said}"
    );
    let file = experiment(folder.path(), REDIRECT);
    let output = finish(&mut run_in("loopback", &file, &out), LIMIT);
    let said = stderr(&output);
    assert!(
        said.contains("redirected traffic") && said.contains("addressing: namespaces"),
        "{said}"
    );
}
