//! Flood protection: counts frames that make no progress on any exchange, which a client could send for ever.

use tare_http2_frames::frame::Kind;

use super::protocol_error::ProtocolError;

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
