//! The record layer of TLS: what was sealed comes back, what was changed does not.

/// One input.
pub fn run(data: &[u8]) {
    let _ = tare_load::tls::fuzz_entry(data);
}
