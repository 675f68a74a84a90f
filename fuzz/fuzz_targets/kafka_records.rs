//! Batches of records as no broker would send them: every walk over them ends.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::kafka_records::run(data));
