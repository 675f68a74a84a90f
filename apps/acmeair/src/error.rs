//! Why a service could not start or had to end.

use std::io;
use std::net::SocketAddr;

/// What went wrong outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
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
    /// The way to the database.
    #[error("--database {0}; write mongodb://host:port/?tls=true&tlsCAFile=/path/ca.pem")]
    Uri(String),
    /// The database never answered.
    #[error("{service} never reached its database in {seconds} s: {why}")]
    Database {
        /// Which service.
        service: &'static str,
        /// How long it was tried.
        seconds: u64,
        /// The last reason.
        why: String,
    },
    /// The data could not be loaded.
    #[error("cannot load the data: {0}")]
    Load(String),
    /// The key of the tokens.
    #[error("cannot make the key of the tokens: {0}")]
    Key(String),
}
