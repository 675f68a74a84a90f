//! The control plane as a process, asked over TLS as proxies ask.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod answers;
mod certificates;
mod process;
mod rig;
