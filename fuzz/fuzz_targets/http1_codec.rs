//! The codec of HTTP/1 against rubbish: it must return, without panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_rubbish::targets::http1_codec::run(data));
