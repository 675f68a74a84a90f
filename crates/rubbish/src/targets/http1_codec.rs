//! The codec of HTTP/1 against rubbish: it must return, without panic.

/// One input.
pub fn run(data: &[u8]) {
    let _ = tare_load::http1::codec::fuzz_entry(data);
}
