//! The TLS record layer: sealed records open again, changed ones are refused.

/// Runs one input.
pub fn run(data: &[u8]) {
    let _ = tare_load::tls::fuzz_entry(data);
}
