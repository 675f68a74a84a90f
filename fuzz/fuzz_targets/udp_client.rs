//! The UDP client against datagrams of any content: every exchange ends once.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::udp_client::run(data));
