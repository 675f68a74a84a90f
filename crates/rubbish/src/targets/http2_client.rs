//! The HTTP/2 client against rubbish: every exchange ends once.

use std::sync::{Arc, LazyLock};

use crate::drive::drive;
use crate::plans;
use tare_load::http2::Http2;
use tare_load::http2::dialect::Http;
use tare_load::http2::request::{Prepared, Scheme};

/// Prepared once: a script is short, its requests are long.
static REQUESTS: LazyLock<Arc<[Prepared]>> = LazyLock::new(|| {
    let ready = |spec: &_| Prepared::new(spec, "fuzz", Scheme::Http).ok();
    plans::requests().iter().filter_map(ready).collect()
});

/// One input.
pub fn run(data: &[u8]) {
    drive(Http2::<Http>::new(plans::http2(&REQUESTS)), data);
}
