//! The HTTP/2 client against malformed input: every exchange ends once.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::http2_client::run(data));
