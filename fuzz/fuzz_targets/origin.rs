//! The test server against rubbish, in all its protocols: it must return, without panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_rubbish::targets::origin::run(data));
