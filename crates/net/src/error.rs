//! What can go wrong with the network, and the next step.

use std::io;

/// A failure of the network.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The kernel gives no namespace.
    #[error("no network namespace could be made: {0}; run as root, or use `--addressing loopback`")]
    NoNamespace(io::Error),
}
