//! Malformed Kafka fetch responses, in pieces: every scan of them ends.

/// Runs one input.
pub fn run(data: &[u8]) {
    let _ = tare_kafka::fetch::fuzz_entry(data);
}
