//! HTTP/2: header compression, the codec of one connection, and the client over many of them.

pub mod codec;
pub mod error;
pub mod hpack;
