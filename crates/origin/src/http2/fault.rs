//! What a client can get wrong in HTTP/2, and what that ends.

use tare_wire::ErrorCode;
use tare_wire::hpack::HpackError;

/// A fault: of one stream, which is reset, or of the connection, which is ended by GOAWAY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Stream(ErrorCode),
    Connection(ErrorCode),
}

impl Fault {
    pub(super) const PROTOCOL: Fault = Fault::Connection(ErrorCode::PROTOCOL_ERROR);
    pub(super) const SIZE: Fault = Fault::Connection(ErrorCode::FRAME_SIZE_ERROR);
    pub(super) const FLOOD: Fault = Fault::Connection(ErrorCode::ENHANCE_YOUR_CALM);
    pub(super) const WINDOW: Fault = Fault::Connection(ErrorCode::FLOW_CONTROL_ERROR);
    pub(super) const CLOSED: Fault = Fault::Connection(ErrorCode::STREAM_CLOSED);
    /// A request that breaks the rules of RFC 9113 §8.
    pub(super) const MALFORMED: Fault = Fault::Stream(ErrorCode::PROTOCOL_ERROR);
}

impl From<HpackError> for Fault {
    fn from(error: HpackError) -> Self {
        Fault::Connection(match error {
            HpackError::ListTooLarge { .. } | HpackError::TooManyFields { .. } => {
                ErrorCode::ENHANCE_YOUR_CALM
            }
            _ => ErrorCode::COMPRESSION_ERROR,
        })
    }
}
