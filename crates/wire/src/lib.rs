//! HTTP/2 as bytes, without I/O and without a side: frames, header compression, error codes.
//!
//! The generator reads and writes them as a client, the origin as a server; what only one of them does is theirs.

mod error_code;
pub mod field;
pub mod frame;
pub mod hpack;

pub use error_code::ErrorCode;
