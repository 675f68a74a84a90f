//! Rubbish for every codec and client, and what must hold whatever comes: used by tests and by the fuzzer.

pub mod drive;
pub mod mutate;
pub mod plans;
pub mod targets;
