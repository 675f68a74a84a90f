//! Malformed requests, and the status that answers them.

use thiserror::Error;

/// A malformed request: answered with [`Malformed::status`], then the connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Malformed {
    #[error("the head is not http/1.0 or http/1.1")]
    Head,
    #[error("the head is larger than the origin's limit")]
    HeadTooLarge,
    #[error("content-length is not one number of bytes")]
    ContentLength,
    #[error("both content-length and transfer-encoding are given")]
    LengthAndTransferEncoding,
    #[error("the transfer-encoding is not exactly chunked, or the version is http/1.0")]
    TransferCoding,
    #[error("the chunks of the body are malformed")]
    Chunk,
    #[error("the body is larger than the origin's limit")]
    BodyTooLarge,
    #[error("an http/1.1 request needs exactly one host header")]
    Host,
}

impl Malformed {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::HeadTooLarge => 431,
            Self::BodyTooLarge => 413,
            Self::TransferCoding => 501,
            Self::Head
            | Self::ContentLength
            | Self::LengthAndTransferEncoding
            | Self::Chunk
            | Self::Host => 400,
        }
    }
}
