//! The five services as processes over a real database by TLS: what people do, what they must not, and what breaks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod database;
mod faults;
mod origin;
mod people;
mod rig;
mod strangers;
