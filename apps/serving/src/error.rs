//! Why a service cannot serve, or no longer.

use std::io;
use std::net::SocketAddr;

/// What went wrong outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// A listener.
    #[error("cannot listen on {at}: {error}; choose another address")]
    Listen {
        /// Where.
        at: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// The event loop.
    #[error("cannot start the event loop: {0}; look at the limits of this process")]
    Runtime(io::Error),
    /// A signal.
    #[error("cannot wait for signals: {0}")]
    Signals(io::Error),
    /// A listener that ended.
    #[error("stopped serving: {0}")]
    Served(io::Error),
}
