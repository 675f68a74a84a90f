//! Why a service could not start or had to end.

use serving::ServingError;

/// What went wrong outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What every service can meet.
    #[error(transparent)]
    Serving(#[from] ServingError),
    /// The way to the database.
    #[error("--database {0}; write mongodb://host:port/?tls=true&tlsCAFile=/path/ca.pem")]
    Uri(String),
    /// The database is not where one of Tare's own is.
    #[error(
        "--database names {host}, {found}, and --private-database allows loopback and private addresses only: name one of those, or leave it out"
    )]
    Elsewhere {
        /// Host of the URI.
        host: String,
        /// What is known of its address.
        found: String,
    },
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
