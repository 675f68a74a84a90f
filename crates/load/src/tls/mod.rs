//! TLS without I/O: rustls performs the handshake, then records are encrypted and decrypted here, in place and without
//! allocating.
//!
//! rustls' own record layer copies what it decrypts and allocates for every record it encrypts. After the handshake its keys
//! are exported as for kernel TLS ([`rustls::kernel`]), so that key updates and session tickets still go through rustls.

mod config;
mod failure;
mod fuzz;
mod handshake;
mod record;
mod session;
mod session_cache;

#[cfg(test)]
mod tests;

pub use config::{TlsClient, TlsError};
pub use failure::TlsFailure;
#[doc(hidden)]
pub use fuzz::fuzz_entry;
pub use handshake::{Handshake, HandshakeProgress, HandshakeResult};
pub use record::RECORD_MAX;
pub use session::{Decrypted, PostHandshake, Session};
