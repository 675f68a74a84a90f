//! The producer of Kafka against malformed input: every record ends once.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::kafka_produce::run(data));
