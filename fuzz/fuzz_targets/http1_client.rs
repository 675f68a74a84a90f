//! The pool of HTTP/1.1 connections against rubbish: every exchange ends once.
#![no_main]

use std::sync::{Arc, LazyLock};

use tare_fuzz::{ADDRESS, drive, plans};
use tare_load::http1::plan::PoolPlan;
use tare_load::http1::pool::Pool;
use tare_load::http1::request::Prepared;

/// Prepared once: a script is short, its requests are long.
static REQUESTS: LazyLock<Arc<[Prepared]>> = LazyLock::new(|| {
    let ready = |spec: &_| Prepared::new(spec, "fuzz").ok();
    plans::requests().iter().filter_map(ready).collect()
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let pool = Pool::new(PoolPlan {
        requests: Arc::clone(&REQUESTS),
        addresses: [ADDRESS].into(),
        first: 0,
        connections: 2,
        timeout_ns: 1_000_000_000,
        waiting_max: 16,
        exchanges_max: 5,
        opening: Default::default(),
    });
    drive(pool, data);
});
