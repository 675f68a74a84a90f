//! The gRPC client against rubbish: every call ends once.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_rubbish::targets::grpc_client::run(data));
