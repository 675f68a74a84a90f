//! The server as its users meet it: over HTTP, with real runs and loads. `security` is who may ask for what, `beyond` the same on
//! an address that other machines reach, `limits` a thousand connections, `flows` what is done, `history` the series of its runs, `trust` what protects those who
//! share it, `page` the same in a browser, `contract`
//! what programs of others say of its description.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod beyond;
mod contract;
mod flows;
mod history;
mod kafka;
mod kafka_errors;
mod kafka_records;
mod limits;
mod page;
mod rig;
mod security;
mod trust;
