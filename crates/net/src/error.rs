//! Errors of the network, with advice.

use std::io;

/// A failure of the network.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The kernel refused a new namespace.
    #[error("no network namespace could be made: {0}; run as root, or use `--addressing loopback`")]
    NoNamespace(io::Error),
    /// The program that sets the redirection rules cannot be run.
    #[error(
        "nft cannot be run ({0}): install it (apt-get install nftables), or use `interception: explicit`"
    )]
    NoNft(io::Error),
    /// The kernel refused a change of devices, addresses, routes or rules.
    #[error("cannot {what}: {source}")]
    Refused {
        /// What was tried, in words that follow "cannot".
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl NetError {
    /// Adds what was tried to an error of the kernel.
    pub(crate) fn refused<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self::Refused {
            what,
            source: source.into(),
        }
    }
}
