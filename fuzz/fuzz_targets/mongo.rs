//! MongoDB's protocol against malformed input: messages are refused or answered by one whole message, and the database keeps within its limit.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::mongo::run(data));
