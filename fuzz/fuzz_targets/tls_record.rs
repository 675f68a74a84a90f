//! The record layer of TLS: what was sealed comes back, what was changed does not.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::tls_record::run(data));
