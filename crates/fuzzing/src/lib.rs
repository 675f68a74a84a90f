//! Malformed input for every codec and client, and the invariants that must hold: used by tests and by the fuzzer.

pub mod mutate;
pub mod script;
pub mod targets;
