//! HTTP/2 wire format, without I/O: frames, header compression, error codes.
//!
//! Used by the generator as a client and by the origin as a server; what only one of them needs is in that crate.

mod error_code;
pub mod field;
pub mod frame;
pub mod hpack;

pub use error_code::ErrorCode;
