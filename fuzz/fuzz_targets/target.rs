//! A fuzz target, found by the name of its binary: the list is `tare_fuzzing::targets::ALL`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::run(env!("CARGO_BIN_NAME"), data));
