//! Protocol errors of a client.

use tare_http2_frames::ErrorCode;
use tare_http2_frames::hpack::HpackError;

/// A stream error, which resets the stream, or a connection error, which ends it by GOAWAY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProtocolError {
    Stream(ErrorCode),
    Connection(ErrorCode),
}

impl ProtocolError {
    pub(super) const PROTOCOL: ProtocolError = ProtocolError::Connection(ErrorCode::PROTOCOL_ERROR);
    pub(super) const SIZE: ProtocolError = ProtocolError::Connection(ErrorCode::FRAME_SIZE_ERROR);
    pub(super) const FLOOD: ProtocolError = ProtocolError::Connection(ErrorCode::ENHANCE_YOUR_CALM);
    pub(super) const WINDOW: ProtocolError =
        ProtocolError::Connection(ErrorCode::FLOW_CONTROL_ERROR);
    pub(super) const CLOSED: ProtocolError = ProtocolError::Connection(ErrorCode::STREAM_CLOSED);
    /// A request that breaks the rules of RFC 9113 §8.
    pub(super) const MALFORMED: ProtocolError = ProtocolError::Stream(ErrorCode::PROTOCOL_ERROR);
}

impl From<HpackError> for ProtocolError {
    fn from(error: HpackError) -> Self {
        ProtocolError::Connection(match error {
            HpackError::ListTooLarge { .. } | HpackError::TooManyFields { .. } => {
                ErrorCode::ENHANCE_YOUR_CALM
            }
            _ => ErrorCode::COMPRESSION_ERROR,
        })
    }
}
