//! The test server against malformed input, in all its protocols: it must return, without panic.

/// Runs one input.
pub fn run(data: &[u8]) {
    let _ = tare_origin::fuzz_entry(data);
}
