//! The codec of HTTP/2 against malformed input: it must return, without panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::http2_codec::run(data));
