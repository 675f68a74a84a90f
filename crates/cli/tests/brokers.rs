//! The real binary and simulated brokers that misbehave: ones that lead elsewhere, refuse a group in the middle, or have another time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says where by panicking"
)]

#[path = "../../load-kafka/tests/rig/broker.rs"]
mod broker;
mod rig;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Output};
use std::sync::atomic::Ordering;
use std::time::Duration;

use broker::{Manner, TOPIC, broker_of};
use rig::{finish, stderr, stdout, tare, turn};
use tare_net::namespace::Namespace;
use tare_record::agent::LoadEnd;
use tare_record::load_report::LoadReport;

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// An address of TEST-NET-3. In the namespace of a test it is the machine's own: what is sent there leaves no machine.
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);

/// A broker on loopback that leads to one at a public address, in a namespace that has both.
struct Elsewhere {
    seed: SocketAddr,
    outside: SocketAddr,
    manner: Manner,
    password: tempfile::NamedTempFile,
}

impl Elsewhere {
    /// Does something beside them.
    fn with<T: Send>(work: impl FnOnce(&Elsewhere) -> T + Send) -> T {
        let _turn = turn();
        let home = Namespace::new().unwrap();
        home.run(|| {
            for words in [
                "link set lo up".to_owned(),
                format!("address add {OUTSIDE} dev lo"),
            ] {
                let done = Command::new("ip").args(words.split(' ')).status();
                assert!(done.unwrap().success(), "ip {words}");
            }
            let manner = Manner::default();
            let outside = broker_of(OUTSIDE, manner.clone());
            let seed = Manner {
                advertised: Some(outside),
                ..Manner::default()
            };
            let password = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(password.path(), "secret\n").unwrap();
            work(&Elsewhere {
                seed: broker_of(Ipv4Addr::LOCALHOST, seed),
                outside,
                manner,
                password,
            })
        })
        .unwrap()
    }

    fn load(&self, more: &[&str]) -> Output {
        let url = format!("kafka://{}/{TOPIC}", self.seed);
        let mut load = tare(&["load", &url, "--no-calibrate", "--count", "100"]);
        load.args(["--sasl-user", "ann", "--sasl-mechanism", "PLAIN"])
            .arg("--sasl-password-file")
            .arg(self.password.path())
            .args(more);
        finish(&mut load, LIMIT)
    }

    fn administer(&self, more: &[&str]) -> Output {
        let mut brokers = tare(&["kafka", "--bootstrap", &self.seed.to_string()]);
        brokers
            .args(["--sasl-user", "ann", "--sasl-mechanism", "PLAIN"])
            .arg("--sasl-password-file")
            .arg(self.password.path())
            .args(["log-dirs"])
            .args(more);
        finish(&mut brokers, LIMIT)
    }

    /// Connections and passwords that the one outside has seen.
    fn seen(&self) -> (usize, usize) {
        let Manner {
            connections,
            passwords,
            ..
        } = &self.manner;
        (
            connections.load(Ordering::SeqCst),
            passwords.load(Ordering::SeqCst),
        )
    }

    /// Says who it is that is not called, and what to do.
    fn is_refused(&self, output: &Output) {
        let said = stderr(output);
        assert_ne!(output.status.code(), Some(0), "{said}");
        for words in [
            &self.outside.to_string(),
            "neither a loopback nor a private address",
            "--allow-public-target",
            "advertised.listeners",
        ] {
            assert!(said.contains(words), "{said}");
        }
        assert!(!said.contains("secret"), "{said}");
        assert_eq!(self.seen(), (0, 0));
    }
}

#[test]
fn a_broker_that_advertises_a_public_address_gets_neither_connection_nor_password() {
    Elsewhere::with(|brokers| {
        for more in [&[][..], &["--consume"], &["--end-to-end"]] {
            let output = brokers.load(more);
            assert_eq!(output.status.code(), Some(4), "{more:?}");
            brokers.is_refused(&output);
        }
        // Where it is allowed it gets both: it was there all the time.
        let output = brokers.load(&["--allow-public-target"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let (connections, passwords) = brokers.seen();
        assert!(connections > 0 && passwords > 0);
    });
}

#[test]
fn administration_goes_to_no_public_address_that_a_broker_advertises() {
    Elsewhere::with(|brokers| {
        brokers.is_refused(&brokers.administer(&[]));
        let output = brokers.administer(&["--allow-public-target"]);
        assert!(brokers.seen().0 > 0, "{}", stderr(&output));
    });
}

/// Reads as a member of a group whose coordinator answers heartbeats with this code after a while.
fn member(heartbeat: i16, more: &[&str]) -> Output {
    let _turn = turn();
    let manner = Manner {
        heartbeat,
        ..Manner::default()
    };
    let at = broker_of(Ipv4Addr::LOCALHOST, manner);
    let url = format!("kafka://{at}/{TOPIC}");
    let mut load = tare(&["load", &url, "--consume", "--group", "g"]);
    load.args(["--duration", "40s", "--no-calibrate"])
        .args(more);
    finish(&mut load, LIMIT)
}

#[test]
fn a_consumer_whose_group_is_lost_in_the_middle_ends_with_an_error_and_keeps_what_it_read() {
    // FENCED_INSTANCE_ID and GROUP_AUTHORIZATION_FAILED.
    for (code, step) in [(82, "same instance name"), (30, "ACLs")] {
        let output = member(code, &["--json"]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("aborted") && said.contains(step), "{said}");
        let report: LoadReport = serde_json::from_str(&stdout(&output)).unwrap();
        let result = &report.result;
        assert_eq!(result.ended, LoadEnd::Aborted);
        assert!(result.abort_reason.as_ref().unwrap().contains(step));
        assert!(result.records.unwrap().in_window > 100);
        assert!(result.window_ns < 30_000_000_000, "it ends at once");
    }
    let text = member(30, &[]);
    assert_eq!(text.status.code(), Some(1));
    let said = stdout(&text);
    assert!(said.contains("aborted after"), "{said}");
    assert!(
        said.contains("ACLs") && said.contains("records/s"),
        "{said}"
    );
}

#[test]
fn records_from_the_future_are_counted_and_shown() {
    let _turn = turn();
    let manner = Manner {
        ahead: Duration::from_secs(3600),
        ..Manner::default()
    };
    let at = broker_of(Ipv4Addr::LOCALHOST, manner);
    let url = format!("kafka://{at}/{TOPIC}");
    let read = |more: &[&str]| {
        let mut load = tare(&["load", &url, "--consume", "--count", "1000"]);
        let output = finish(load.arg("--no-calibrate").args(more), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let report: LoadReport = serde_json::from_str(&read(&["--json"])).unwrap();
    let records = report.result.records.unwrap();
    // A batch of a hundred has one age.
    assert!(records.negative_end_to_end >= 10, "{records:?}");
    assert_eq!(records.negative_end_to_end, records.total / 100);
    let ages = report
        .latency_ns
        .keys()
        .find(|tag| tag.ends_with(".timestamp-age"));
    assert_eq!(ages, None, "none is made up");
    let text = read(&[]);
    assert!(text.contains("negative latencies"), "{text}");
}
