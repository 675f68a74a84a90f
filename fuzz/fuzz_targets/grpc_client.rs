//! The gRPC client against malformed input: every call ends once.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tare_fuzzing::targets::grpc_client::run(data));
