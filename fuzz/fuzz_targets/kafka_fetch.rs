//! Answers to a fetch as no broker would send them, in pieces: every scan of them ends.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::kafka_fetch::run(data));
