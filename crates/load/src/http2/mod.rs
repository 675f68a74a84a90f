//! HTTP/2: the codec of one connection, and the client over many of them.

pub mod client;
pub mod codec;
pub mod dialect;
pub mod error;
pub mod request;

pub use client::{Http2, Http2Plan, Windows};
pub use tare_http2_frames::hpack;
