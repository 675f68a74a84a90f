//! Malformed Kafka record batches: every walk over them ends.

/// Runs one input.
pub fn run(data: &[u8]) {
    let _ = tare_kafka::records::fuzz_entry(data);
}
