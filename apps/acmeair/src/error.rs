//! Why a service could not start or had to end.

use serving::ServingError;

/// A fatal error outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An error common to all services.
    #[error(transparent)]
    Serving(#[from] ServingError),
    /// The database URI.
    #[error("--database {0}; write mongodb://host:port/?tls=true&tlsCAFile=/path/ca.pem")]
    Uri(String),
    /// The database address is neither loopback nor private.
    #[error(
        "--database names {host}, {found}, and --private-database allows loopback and private addresses only: name one of those, or leave it out"
    )]
    Elsewhere {
        /// Host of the URI.
        host: String,
        /// Its address, or why there is none.
        found: String,
    },
    /// The database could not be reached.
    #[error("{service} never reached its database in {seconds} s: {why}")]
    Database {
        service: &'static str,
        /// How long it was tried.
        seconds: u64,
        /// The last reason.
        why: String,
    },
    /// Loading the data failed.
    #[error("cannot load the data: {0}")]
    Load(String),
    /// The token key is unusable.
    #[error("cannot use the key of the tokens: {0}")]
    Key(String),
}
