//! The gRPC client against rubbish: every call ends once.
#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tare_fuzz::{ADDRESS, drive, plans};
use tare_load::grpc::{Call, Grpc};
use tare_load::http2::codec::Limits;
use tare_load::http2::request::Scheme;
use tare_load::http2::{Http2, Http2Plan, Windows};

/// Prepared once: a script is short, its requests are long.
static REQUESTS: LazyLock<Arc<[Call]>> = LazyLock::new(|| {
    let ready = |spec: &_| Call::new(spec, "fuzz", Scheme::Http, Some(Duration::from_secs(1))).ok();
    plans::requests().iter().filter_map(ready).collect()
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let client = Http2::<Grpc>::new(Http2Plan {
        requests: Arc::clone(&REQUESTS),
        addresses: [ADDRESS].into(),
        first: 0,
        connections: 2,
        streams: 3,
        timeout_ns: 1_000_000_000,
        waiting_max: 16,
        windows: Windows::default(),
        limits: Limits::default(),
    });
    drive(client, data);
});
