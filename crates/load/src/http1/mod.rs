//! HTTP/1.1: the codec of one connection, and the client as a pool of them.

pub mod codec;
mod conn;
pub mod made;
pub mod pool;
#[cfg(test)]
mod pool_tests;
pub mod request;
pub mod requests;
pub mod varied;
mod wrong;

pub use wrong::{Wrong, WrongCapture};
