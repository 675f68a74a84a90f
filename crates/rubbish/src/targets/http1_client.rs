//! The pool of HTTP/1.1 connections against rubbish: every exchange ends once.

use std::sync::{Arc, LazyLock};

use crate::drive::drive;
use crate::plans;
use tare_load::http1::pool::Pool;
use tare_load::http1::request::Prepared;

/// Prepared once: a script is short, its requests are long.
static REQUESTS: LazyLock<Arc<[Prepared]>> = LazyLock::new(|| {
    let ready = |spec: &_| Prepared::new(spec, "fuzz").ok();
    plans::requests().iter().filter_map(ready).collect()
});

/// One input.
pub fn run(data: &[u8]) {
    let pool = Pool::new(Arc::clone(&REQUESTS), &plans::connections());
    drive(pool, data);
}
