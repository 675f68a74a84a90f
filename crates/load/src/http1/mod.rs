//! HTTP/1.1: the codec of one connection, and the client over a pool of connections.

pub mod codec;
mod conn;
pub mod made;
mod mismatch;
pub mod pool;
#[cfg(test)]
mod pool_tests;
pub mod request;
pub mod requests;
pub mod varied;

pub use mismatch::{CaptureError, ResponseMismatch};
