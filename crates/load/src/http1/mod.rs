//! HTTP/1.1: the codec of one connection, and the client as a pool of them.

mod backoff;
pub mod codec;
pub mod pool;
pub mod request;
