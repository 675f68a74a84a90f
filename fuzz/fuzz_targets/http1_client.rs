//! The pool of HTTP/1.1 connections against rubbish: every exchange ends once.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_rubbish::targets::http1_client::run(data));
