//! Why a service could not start or had to end.

use serving::ServingError;

/// What went wrong outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address of another service.
    #[error("{0:?} is no address of a service; write host:port")]
    Address(String),
    /// The name of a method.
    #[error("{0:?} is no path of a method; this is a mistake in the table of emojis")]
    Method(String),
    /// What every service can meet.
    #[error(transparent)]
    Serving(#[from] ServingError),
}
