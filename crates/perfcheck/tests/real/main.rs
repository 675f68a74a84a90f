//! `tare-perfcheck` on small projects: commands whose values are known, and Go, Rust, Java, C++ and Python themselves.
//!
//! Slowdowns of real programs are huge, so that a busy machine does not hide them; small ones are in the simulation of `judge`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod commands;
mod rig;
mod tools;
