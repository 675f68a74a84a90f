//! The test server against rubbish, in all its protocols: it must return, without panic.

/// One input.
pub fn run(data: &[u8]) {
    let _ = tare_origin::fuzz_entry(data);
}
