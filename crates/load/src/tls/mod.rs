//! TLS without I/O: rustls shakes hands, then the records are sealed and opened here, in place and without allocating.
//!
//! rustls' own record layer copies what it opens and allocates for every record it seals. The handshake is its work all the
//! same; when it is done, its keys are taken over as a kernel that speaks TLS would take them ([`rustls::kernel`]), so that
//! key updates and tickets still go through it.

mod blocking;
mod config;
mod fault;
mod fuzz;
mod handshake;
mod record;
mod session;
mod tickets;
mod trust;

#[cfg(test)]
mod tests;

pub use config::{TlsClient, TlsError};
pub use fault::TlsFault;
#[doc(hidden)]
pub use fuzz::fuzz_entry;
pub use handshake::{Handshake, Progress, Shaken};
pub use record::RECORD_MAX;
pub use session::{Session, Step, Told};
