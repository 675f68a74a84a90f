//! Whole loads over loopback: counts are exact, streams are complete, orders are followed.

mod rig;

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use rig::{MS, OK, Server, count, measure, plan, request};
use tare_load::{Progress, StopHandle, run, run_agent};
use tare_schema::agent::{AgentMessage, Ended};
use tare_schema::load::{Pacing, Stop};

#[test]
fn a_constant_rate_by_count_sends_exactly_that_many() {
    let server = Server::answering(OK);
    let outcome = measure(&plan(server.address));
    let result = &outcome.result;
    assert_eq!(
        (result.intended, result.released, result.sent, result.right),
        (100, 100, 100, 100)
    );
    assert_eq!(
        (result.errors, result.unfinished, result.overflow),
        (0, 0, 0)
    );
    assert_eq!(result.window_ns, 100 * MS);
    assert_eq!(server.requests(), 100);
    assert_eq!(result.requests_sent_total, 100);
    assert_eq!(
        result.instrument.stamped_by_kernel + result.instrument.stamped_by_us,
        100
    );
    assert_eq!(outcome.totals["client.root.felt"].count(), 100);
    assert_eq!(outcome.totals["client.root.service"].count(), 100);
    assert_eq!(outcome.totals["client.lateness"].count(), 100);
    assert_eq!(result.bytes_received, 100 * OK.len() as u64);
}
