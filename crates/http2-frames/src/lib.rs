//! HTTP/2 wire format, without I/O: frames, header compression, error codes; and single exchanges over any blocking stream.
//!
//! Used by the generator as a client and by the origin as a server; what only one of them needs is in that crate. Probes and calls
//! before a load are single exchanges.

mod error_code;
pub mod exchange;
pub mod field;
pub mod frame;
pub mod grpc;
pub mod hpack;

pub use error_code::ErrorCode;
