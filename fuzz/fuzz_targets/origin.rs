//! The test server against malformed input, in all its protocols: it must return, without panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::origin::run(data));
