//! Against the origin: both sides count the same.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails"
)]

mod rig;

use std::net::SocketAddr;
use std::thread::JoinHandle;

use rig::{MS, count, measure, plan, request};
use tare_load::protocols::http2::Http2Options;
use tare_origin::{OriginOptions, StopHandle, Totals, bind};
use tare_record::load::{ClientSpec, ExpectStatus, Pacing, Stop};
use tare_stats::{Latencies, hlog};

/// An origin on a port of its own.
struct Running {
    address: SocketAddr,
    stop: StopHandle,
    thread: JoinHandle<Totals>,
}

fn start() -> Running {
    let origin = bind(OriginOptions::default()).unwrap();
    let address = origin.local_addr();
    let stop = StopHandle::new().unwrap();
    let stopped = stop.clone();
    let thread = std::thread::spawn(move || origin.run(stopped).unwrap());
    Running {
        address,
        stop,
        thread,
    }
}

impl Running {
    fn totals(self) -> Totals {
        self.stop.stop();
        self.thread.join().unwrap()
    }
}

#[test]
fn the_origin_has_answered_exactly_what_was_sent_over_exactly_the_connections_opened() {
    let origin = start();
    let mut plan = plan(origin.address);
    plan.load.workers = 2;
    plan.load.client = ClientSpec::new("http1", 7);
    plan.load.pacing = Pacing::Constant { rate_per_s: 5000.0 };
    plan.load.warmup_ns = 100 * MS;
    plan.load.stop = Stop::Count { exchanges: 1500 };
    let outcome = measure(&plan);
    assert_eq!(
        (outcome.result.ok, outcome.result.requests_sent_total),
        (1500, 2000)
    );
    let totals = origin.totals();
    assert_eq!(
        (totals.requests, totals.malformed, totals.connections),
        (2000, 0, 7)
    );
    assert_eq!(
        totals.received_bytes,
        outcome.result.requests_sent_total * (totals.received_bytes / 2000)
    );
}

#[test]
fn statuses_closes_and_large_bodies_of_the_origin_are_told_apart() {
    let origin = start();
    let mut plan = plan(origin.address);
    plan.load.pacing = Pacing::Max;
    plan.load.stop = Stop::Count { exchanges: 900 };
    plan.load.requests = vec![
        request("plain", "/?size=100"),
        request("large", "/?size=300000"),
        request("failing", "/?status=503"),
    ];
    plan.load.requests[0].expect.body = tare_record::load::ExpectBody::Length(100);
    plan.load.requests[1].expect.body = tare_record::load::ExpectBody::Length(300_000);
    let outcome = measure(&plan);
    let result = &outcome.result;
    assert_eq!(result.ok + result.errors, 900, "{:?}", result.outcomes);
    assert_eq!(count(&outcome, "status-503"), result.errors);
    assert!(
        result.errors > 200 && result.errors < 400,
        "a third of them: {}",
        result.errors
    );
    assert_eq!(origin.totals().requests, 900);
}

/// Every observation, as lowest value of its bucket and count.
fn counts(latencies: &Latencies) -> Vec<(u64, u64)> {
    let buckets = latencies.buckets();
    buckets.map(|(low_ns, _, count)| (low_ns, count)).collect()
}

#[test]
fn right_answers_by_class_of_status_add_up_to_all_of_them_to_the_last_count() {
    for client in [
        ClientSpec::new("http1", 4),
        ClientSpec::with(2, &Http2Options { streams: 4 }),
    ] {
        let origin = start();
        let mut plan = plan(origin.address);
        plan.load.workers = 2;
        plan.load.client = client;
        plan.load.pacing = Pacing::Max;
        plan.load.stop = Stop::Count { exchanges: 3000 };
        plan.load.requests = vec![
            request("plain", "/"),
            request("cached", "/?p=0.5&status=304"),
            request("lost", "/?p=0.5&status=404"),
            request("failing", "/?status=503"),
        ];
        for number in [0, 1, 3] {
            plan.load.requests[number].expect.status = ExpectStatus::Any;
        }
        plan.load.requests[2].expect.status = ExpectStatus::Exactly(200);
        let outcome = measure(&plan);
        let result = &outcome.result;
        let wrong = count(&outcome, "status-404");
        assert!((200..600).contains(&wrong), "half of a quarter: {wrong}");
        assert_eq!((result.ok, result.errors), (3000 - wrong, wrong));
        assert_eq!(count(&outcome, "ok"), result.ok);
        assert_eq!(result.outcomes.len(), 5, "{:?}", result.outcomes);

        let statuses = &result.ok_by_status;
        let seen: Vec<_> = statuses.iter().map(|one| one.status).collect();
        assert_eq!(seen, [200, 304, 503]);
        let sum: u64 = statuses.iter().map(|one| one.count).sum();
        assert_eq!(sum, result.ok);
        let first = result.latency_hlog.as_bytes();
        let log = hlog::read_merged(first, ..).unwrap();
        for (quantity, whole) in [
            ("latency", outcome.latency()),
            ("service", outcome.service()),
        ] {
            let parts = outcome.by_status(quantity);
            let found: Vec<_> = parts.iter().map(|(c, l)| (*c, l.count())).collect();
            let expected = ["2xx", "3xx", "5xx"].into_iter().zip(statuses);
            let expected: Vec<_> = expected.map(|(class, of)| (class, of.count)).collect();
            assert_eq!(found, expected);
            let mut sum = parts["2xx"].clone();
            sum.merge(&parts["3xx"]).unwrap();
            sum.merge(&parts["5xx"]).unwrap();
            assert_eq!(counts(&sum), counts(&whole.unwrap()), "{quantity}");
            // The log has them apart, one tag for each request and class.
            let of_failing = format!("client.failing.{quantity}.5xx");
            let logged = log.iter().find(|(tag, _)| **tag == of_failing);
            assert_eq!(counts(logged.unwrap().1), counts(&parts["5xx"]));
        }
        let first_bytes = outcome.sum(|tag| tag.quantity == "first-byte" && tag.class.is_none());
        assert_eq!(first_bytes.unwrap().count(), result.ok);
    }
}
