//! Answers to a fetch as no broker would send them, in pieces: every scan of them ends.

/// One input.
pub fn run(data: &[u8]) {
    let _ = tare_kafka::fetch::fuzz_entry(data);
}
