//! The HTTP/2 client against rubbish: every exchange ends once.
#![no_main]

use std::sync::{Arc, LazyLock};

use tare_fuzz::{ADDRESS, drive, plans};
use tare_load::http2::codec::Limits;
use tare_load::http2::dialect::Http;
use tare_load::http2::request::{Prepared, Scheme};
use tare_load::http2::{Http2, Http2Plan, Windows};

/// Prepared once: a script is short, its requests are long.
static REQUESTS: LazyLock<Arc<[Prepared]>> = LazyLock::new(|| {
    let ready = |spec: &_| Prepared::new(spec, "fuzz", Scheme::Http).ok();
    plans::requests().iter().filter_map(ready).collect()
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let client = Http2::<Http>::new(Http2Plan {
        requests: Arc::clone(&REQUESTS),
        addresses: [ADDRESS].into(),
        first: 0,
        connections: 2,
        streams: 3,
        timeout_ns: 1_000_000_000,
        waiting_max: 16,
        exchanges_max: 5,
        opening: Default::default(),
        windows: Windows::default(),
        limits: Limits::default(),
    });
    drive(client, data);
});
