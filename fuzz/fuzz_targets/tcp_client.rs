//! The TCP client against rubbish: every exchange ends once.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_rubbish::targets::tcp_client::run(data));
