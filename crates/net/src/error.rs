//! What can go wrong with the network, and the next step.

use std::io;

/// A failure of the network.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The kernel gives no namespace.
    #[error("no network namespace could be made: {0}; run as root, or use `--addressing loopback`")]
    NoNamespace(io::Error),
    /// Traffic cannot be captured without the program that sets rules.
    #[error(
        "nft cannot be run ({0}): install it (apt-get install nftables), or use `interception: explicit`"
    )]
    NoNft(io::Error),
    /// The kernel refused something about links, addresses, routes or rules.
    #[error("cannot {what}: {source}")]
    Refused {
        /// What was tried, in words that follow "cannot".
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl NetError {
    /// Wraps the kernel's refusal with what was tried.
    pub(crate) fn refused<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self::Refused {
            what,
            source: source.into(),
        }
    }
}
