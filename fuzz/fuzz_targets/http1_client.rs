//! The pool of HTTP/1.1 connections against malformed input: every exchange ends once.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::http1_client::run(data));
