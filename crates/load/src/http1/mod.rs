//! HTTP/1.1: the codec of one connection.

pub mod codec;
