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
use tare_origin::{OriginOptions, StopHandle, Totals, bind};
use tare_schema::load::{ClientSpec, Pacing, Stop};

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
    plan.load.client = ClientSpec::Http1 { connections: 7 };
    plan.load.pacing = Pacing::Constant { rate_per_s: 5000.0 };
    plan.load.warmup_ns = 100 * MS;
    plan.load.stop = Stop::Count { exchanges: 1500 };
    let outcome = measure(&plan);
    assert_eq!(
        (outcome.result.right, outcome.result.requests_sent_total),
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
    plan.load.requests[0].expect.body = tare_schema::load::ExpectBody::Length(100);
    plan.load.requests[1].expect.body = tare_schema::load::ExpectBody::Length(300_000);
    let outcome = measure(&plan);
    let result = &outcome.result;
    assert_eq!(result.right + result.errors, 900, "{:?}", result.outcomes);
    assert_eq!(count(&outcome, "status-503"), result.errors);
    assert!(
        result.errors > 200 && result.errors < 400,
        "a third of them: {}",
        result.errors
    );
    assert_eq!(origin.totals().requests, 900);
}
