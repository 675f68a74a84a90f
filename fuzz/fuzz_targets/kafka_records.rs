//! Batches of records as no broker would send them: every walk over them ends.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = tare_kafka::records::fuzz_entry(data);
});
