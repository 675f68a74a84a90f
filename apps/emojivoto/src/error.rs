//! Why a service could not start or had to end.

use serving::ServingError;

/// A fatal error outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address of another service is invalid.
    #[error("{0:?} is no address of a service; write host:port")]
    Address(String),
    /// The name of a method is invalid.
    #[error("{0:?} is no path of a method; this is a mistake in the table of emojis")]
    Method(String),
    /// An error common to all services.
    #[error(transparent)]
    Serving(#[from] ServingError),
}
