//! Errors of serving.

use std::io;
use std::net::SocketAddr;

/// A fatal error outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// Cannot listen on an address.
    #[error("cannot listen on {at}: {error}; choose another address")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// Cannot start the event loop.
    #[error("cannot start the event loop: {0}; look at the limits of this process")]
    Runtime(io::Error),
    /// Cannot wait for signals.
    #[error("cannot wait for signals: {0}")]
    Signals(io::Error),
    /// A listener ended.
    #[error("stopped serving: {0}")]
    Served(io::Error),
}
