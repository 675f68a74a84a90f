//! Loads on real brokers: what is written, read, shared within groups and timed from end to end, and what goes wrong in words.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says where by panicking"
)]

mod bed;
mod consume;
mod end_to_end;
mod errors;
mod group;
mod produce;
mod tools;
