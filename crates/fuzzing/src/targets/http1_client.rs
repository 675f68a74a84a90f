//! The pool of HTTP/1.1 connections against malformed input: every exchange ends once.

use std::sync::{Arc, LazyLock};

use crate::fixtures;
use crate::script::run_script;
use tare_load::protocols::http1::pool::Pool;
use tare_load::protocols::http1::request::Prepared;

/// Prepared once: a script is short, its requests are long.
static REQUESTS: LazyLock<Arc<[Prepared]>> = LazyLock::new(|| {
    let ready = |spec: &_| Prepared::new(spec, "fuzz").ok();
    fixtures::requests().iter().filter_map(ready).collect()
});

/// Runs one input.
pub fn run(data: &[u8]) {
    let pool = Pool::new(Arc::clone(&REQUESTS), &fixtures::connections());
    run_script(pool, data);
}
