//! Suites: the real program, with a stand-in for `tare`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod entries;
#[path = "../maker/mod.rs"]
#[allow(dead_code, reason = "each test binary uses its own part of the maker")]
mod maker;
mod nights;
mod rig;
