//! Why a service could not start or had to end.

use std::io;
use std::net::SocketAddr;

/// What went wrong outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address of another service.
    #[error("{0:?} is no address of a service; write host:port")]
    Address(String),
    /// The name of a method.
    #[error("{0:?} is no path of a method; this is a mistake in the table of emojis")]
    Method(String),
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
