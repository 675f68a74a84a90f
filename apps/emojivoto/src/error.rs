//! Why a service could not start or had to end.

use serving::ServingError;

/// A fatal error outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address of another service is invalid.
    #[error("invalid service address {0:?}; write host:port")]
    Address(String),
    /// The name of a method is invalid.
    #[error("invalid method path {0:?}; this is a mistake in the table of emojis")]
    Method(String),
    /// An error common to all services.
    #[error(transparent)]
    Serving(#[from] ServingError),
}
