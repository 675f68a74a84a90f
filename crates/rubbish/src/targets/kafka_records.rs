//! Batches of records as no broker would send them: every walk over them ends.

/// One input.
pub fn run(data: &[u8]) {
    let _ = tare_kafka::records::fuzz_entry(data);
}
