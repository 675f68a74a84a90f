//! The HTTP/2 codec against malformed input: it must return, without panic.

/// Runs one input.
pub fn run(data: &[u8]) {
    let _ = tare_load::protocols::http2::codec::fuzz_entry(data);
}
