//! UDP echo: loads on a real origin and on nothing, and over an emulated link that loses packets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use rig::{finish, metric, only_run, origin_with_counters, records, stderr, stdout, tare, turn};
use serde_json::Value;
use tare_record::record::LinkDirectionUsage;

const LIMIT: Duration = Duration::from_secs(120);

fn load(url: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let mut load = tare(&["load", url, "--no-calibrate", "--json"]);
    let output = finish(load.args(more), LIMIT);
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn datagrams_are_echoed_matched_and_stamped_by_the_kernel() {
    let _turn = turn();
    let (_origin, [address, counters]) = origin_with_counters(&["--protocol", "udp"]);
    let url = format!("udp://{address}");
    let more = ["--rate", "500", "--count", "500", "--connections", "3"];
    let (code, out, said) = load(
        &url,
        &[&more[..], &["--udp-datagram-bytes", "1kB"]].concat(),
    );
    assert_eq!(code, Some(0), "{said}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let result = &report["result"];
    assert_eq!(
        (&result["intended"], &result["ok"]),
        (&500.into(), &500.into())
    );
    assert_eq!(result["protocol_counts"]["datagrams-sent"], 500);
    assert_eq!(result["protocol_counts"]["datagrams-duplicated"], 0);
    assert_eq!(
        result["protocol_counts"]["datagrams-dropped-by-generator"],
        0
    );
    let bytes = (&result["bytes_sent"], &result["bytes_received"]);
    assert_eq!(bytes, (&500_000.into(), &500_000.into()));
    assert_eq!(result["generator"]["kernel_timestamps"], 500, "{result}");
    assert_eq!(metric(&counters, "requests_total"), 500);
    // With the requests for the counters themselves.
    let received = metric(&counters, "received_bytes_total");
    assert!((500_000..501_000).contains(&received), "{received}");
}

#[test]
fn as_fast_as_possible_keeps_so_many_in_flight() {
    let _turn = turn();
    let (_origin, [address, _]) = origin_with_counters(&["--protocol", "udp"]);
    let url = format!("udp://{address}");
    let more = [
        "--count",
        "2000",
        "--connections",
        "2",
        "--udp-in-flight-max",
        "8",
    ];
    let (code, out, said) = load(&url, &more);
    assert_eq!(code, Some(0), "{said}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["result"]["ok"], 2000);
}

#[test]
fn a_server_that_answers_some_datagrams_twice_and_some_never_is_described_exactly() {
    let _turn = turn();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    server.set_read_timeout(Some(LIMIT)).unwrap();
    let echo = std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        for datagram in 0..200 {
            // Interrupted when a child of this process ends.
            let (bytes, from) = loop {
                match server.recv_from(&mut buffer) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    received => break received.unwrap(),
                }
            };
            let times = [1, 0, 1, 2, 1][datagram % 5];
            for _ in 0..times {
                server.send_to(&buffer[..bytes], from).unwrap();
            }
        }
    });
    let more = [
        "--rate",
        "200",
        "--count",
        "200",
        "--timeout",
        "2s",
        "--connections",
        "1",
    ];
    let (code, out, said) = load(&format!("udp://{address}"), &more);
    echo.join().unwrap();
    assert_eq!(code, Some(0), "{said}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let result = &report["result"];
    assert_eq!(
        (&result["ok"], &result["errors"]),
        (&160.into(), &40.into())
    );
    let timeouts = result["outcomes"].as_array().unwrap().iter();
    let mut timeouts = timeouts.filter(|outcome| outcome["class"] == "timeout");
    assert_eq!(timeouts.next().unwrap()["count"], 40);
    assert_eq!(result["protocol_counts"]["datagrams-lost"], 40);
    assert_eq!(result["protocol_counts"]["datagrams-duplicated"], 40);
}

#[test]
fn a_port_where_nothing_listens_is_named() {
    let _turn = turn();
    let free = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let more = ["--rate", "100", "--count", "100", "--timeout", "1s"];
    let (code, out, _) = load(&format!("udp://{free}"), &more);
    assert_eq!(code, Some(4), "no answers");
    let report: Value = serde_json::from_str(&out).unwrap();
    let outcome = &report["result"]["outcomes"][0];
    assert_eq!(
        (&outcome["class"], &outcome["count"]),
        (&"refused".into(), &100.into())
    );
    assert!(
        outcome["example"]
            .as_str()
            .unwrap()
            .contains("nothing listens"),
        "{outcome}"
    );
}

#[test]
fn what_udp_cannot_do_is_refused_with_the_next_step() {
    let said = |url: &str, more: &[&str]| {
        let (code, _, said) = load(url, &[more, &["--count", "1"]].concat());
        assert_eq!(code, Some(2), "{said}");
        said
    };
    let url = "udp://127.0.0.1:9";
    assert!(said(url, &["--http2"]).contains("http://"));
    assert!(said(url, &["--insecure"]).contains("there is none over udp"));
    assert!(said(url, &["--udp-datagram-bytes", "15B"]).contains("16 to 65507"));
    assert!(said(url, &["--udp-datagram-bytes", "many"]).contains("--udp-datagram-bytes many"));
    assert!(said("udp://127.0.0.1", &[]).contains("no port"));
    let foreign = said("http://127.0.0.1:9", &["--udp-in-flight-max", "2"]);
    assert!(foreign.contains("write udp://127.0.0.1:9"), "{foreign}");
}

fn experiment(folder: &Path, arms: &str, more: &str) -> std::path::PathBuf {
    let path = folder.join("datagrams.yaml");
    let text = format!(
        "question: What does the link lose?\n\
         workload: {{use: udp-echo}}\n\
         arms:\n{arms}\
         addressing: namespaces\n\
         load: {{model: constant, rate: 1000, duration: 2s, warmup: 200ms, connections: 2, timeout: 2s}}\n\
         blocks: 1\n\
         seed: 7\n\
         {more}"
    );
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_loss_found_over_a_link_is_the_loss_that_was_asked_for() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let sites = "sites:\n  pods: {east: [client], west: [server]}\n  \
         links: [{between: [east, west], round_trip: 4ms, loss: 5%}]\n";
    let arms = "  - {name: direct}\n  - {name: again}\n";
    let file = experiment(folder.path(), arms, sites);
    let out = folder.path().join("runs");
    let command = [
        "run",
        file.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    let output = finish(&mut tare(&command), LIMIT);
    let said = stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{said}");
    let records = records(&only_run(&out).unwrap());
    assert!(!records.is_empty());
    for record in records {
        let load = &record.load[0];
        let machine = record.machine.as_ref().unwrap();
        let directions = &machine.links[0].directions;
        // Five standard deviations. The counters of the link are read beside the window, on a busy machine far beside it.
        let sum =
            |of: fn(&LinkDirectionUsage) -> u64| directions.iter().map(of).sum::<u64>() as f64;
        let (lost, entered) = (sum(|way| way.lost_packets), sum(|way| way.packets_in));
        let deviation = (entered * 0.05 * 0.95).sqrt();
        assert!(
            entered > 0.0 && (lost - entered * 0.05).abs() <= 5.0 * deviation,
            "{lost} of {entered} lost by the link"
        );
        let unanswered = load.errors + load.unfinished;
        // 5 % in each direction; five standard deviations of 2000 datagrams.
        let share = unanswered as f64 / load.intended as f64;
        assert!(
            (0.064..0.131).contains(&share),
            "{share} of {}",
            load.intended
        );
        let proofs = &record.proofs;
        assert!(
            !proofs.is_empty() && proofs.iter().all(|proof| proof.passed),
            "{proofs:?}"
        );
    }
}

#[test]
fn an_edge_of_datagrams_has_neither_tls_nor_a_proxy_for_tcp() {
    let folder = tempfile::tempdir().unwrap();
    let said = |arm: &str| {
        let arms = format!("  - {{name: direct}}\n  - {arm}\n");
        let file = experiment(folder.path(), &arms, "");
        let output = finish(&mut tare(&["plan", file.to_str().unwrap()]), LIMIT);
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    let tls = said("{name: tls, edge_security: tls}");
    assert!(tls.contains("there is no TLS over udp"), "{tls}");
    let proxied = said("{name: proxied, sidecars: {on: all, proxy: envoy}}");
    assert!(proxied.contains("does not speak udp"), "{proxied}");
    let as_tcp = said("{name: proxied, sidecars: {on: all, proxy: envoy, as: tcp}}");
    assert!(as_tcp.contains("cannot be treated as tcp"), "{as_tcp}");
}
