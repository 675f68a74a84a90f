//! The codec of HTTP/1 against malformed input: it must return, without panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::http1_codec::run(data));
