//! `tare kafka` with the real binary against three real brokers: every command, what it changes, and what it says when it cannot.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod bed;
mod external;
mod faults;
mod groups;
mod lags;
mod metrics;
mod moves;
#[path = "../rig/mod.rs"]
mod rig;
mod security;
mod telling;
mod topics;
mod verify;
