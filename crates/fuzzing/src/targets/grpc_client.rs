//! The gRPC client against malformed input: every call ends once.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::fixtures;
use crate::script::run_script;
use tare_load::protocols::grpc::{Call, Grpc};
use tare_load::protocols::http2::Http2;
use tare_load::protocols::http2::request::Scheme;
use tare_schema::load::{CallKind, CallSpec, MessagePace};

/// Prepared once: a script is short, its requests are long.
static REQUESTS: LazyLock<Arc<[Call]>> = LazyLock::new(|| {
    let ways = [
        (CallKind::Unary, 1, MessagePace::Free),
        (CallKind::ClientStreaming, 50, MessagePace::Free),
        (CallKind::ServerStreaming, 1, MessagePace::Free),
        (CallKind::Bidirectional, 3, MessagePace::PingPong),
        (
            CallKind::Bidirectional,
            3,
            MessagePace::Every {
                period_ns: 1_000_000,
            },
        ),
    ];
    let calls = ways.map(|(kind, messages, pace)| CallSpec {
        kind,
        messages,
        pace,
        ..CallSpec::default()
    });
    let ready = |(at, spec): (usize, &_)| {
        Call::new(
            spec,
            &calls[at % calls.len()],
            "fuzz",
            Scheme::Http,
            Duration::from_secs(1),
        )
        .ok()
    };
    fixtures::requests()
        .iter()
        .cycle()
        .take(2 * calls.len())
        .enumerate()
        .filter_map(ready)
        .collect()
});

/// Runs one input.
pub fn run(data: &[u8]) {
    run_script(Http2::<Grpc>::new(fixtures::http2(&REQUESTS)), data);
}
