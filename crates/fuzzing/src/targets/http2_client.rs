//! The HTTP/2 client against malformed input: every exchange ends once.

use std::sync::{Arc, LazyLock};

use crate::fixtures;
use crate::script::run_script;
use tare_load::protocols::http2::Http2;
use tare_load::protocols::http2::dialect::Http;
use tare_load::protocols::http2::request::{Prepared, Scheme};

/// Prepared once: a script is short, its requests are long.
static REQUESTS: LazyLock<Arc<[Prepared]>> = LazyLock::new(|| {
    let ready = |spec: &_| Prepared::new(spec, "fuzz", Scheme::Http).ok();
    fixtures::requests().iter().filter_map(ready).collect()
});

/// Runs one input.
pub fn run(data: &[u8]) {
    run_script(Http2::<Http>::new(fixtures::http2(&REQUESTS)), data);
}
