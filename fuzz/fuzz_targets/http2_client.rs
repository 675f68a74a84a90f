//! The HTTP/2 client against rubbish: every exchange ends once.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_rubbish::targets::http2_client::run(data));
