//! The producer of Kafka against rubbish: every record ends once.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_rubbish::targets::kafka_produce::run(data));
