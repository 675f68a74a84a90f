//! Protocol errors of a client, and the limit of frames that make no progress on any exchange, which a client could send for ever.

use tare_http2_frames::ErrorCode;
use tare_http2_frames::frame::Kind;
use tare_http2_frames::hpack::HpackError;

/// Limit of frames that each cost a reply or a stream: PING, SETTINGS, RST_STREAM (CVE-2023-44487), refused streams.
const COSTLY_MAX: u32 = 1000;

/// Limit of others, which cost no more than reading them.
const IDLE_MAX: u32 = 10_000;

/// Frames since the last progress of an answer; body bytes reset the count of cheap ones.
#[derive(Debug, Default)]
pub(super) struct FloodGuard {
    costly: u32,
    idle: u32,
}

impl FloodGuard {
    pub(super) fn progressed(&mut self) {
        *self = Self::default();
    }

    /// Counts a costly frame.
    pub(super) fn costly(&mut self) -> Result<(), ProtocolError> {
        self.costly += 1;
        if self.costly > COSTLY_MAX {
            return Err(ProtocolError::FLOOD);
        }
        Ok(())
    }

    /// Counts a frame.
    pub(super) fn frame(&mut self, kind: Kind, payload_bytes: u32) -> Result<(), ProtocolError> {
        match kind {
            Kind::Ping | Kind::Settings | Kind::RstStream => self.costly(),
            Kind::Data if payload_bytes > 0 => {
                self.idle = 0;
                Ok(())
            }
            _ => {
                self.idle += 1;
                if self.idle > IDLE_MAX {
                    return Err(ProtocolError::FLOOD);
                }
                Ok(())
            }
        }
    }
}

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
