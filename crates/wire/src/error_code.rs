//! The error codes of HTTP/2 and their names.

use std::fmt;

/// An error code as RST_STREAM and GOAWAY carry it (RFC 9113 §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// No error.
    pub const NO_ERROR: ErrorCode = ErrorCode(0x0);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: ErrorCode = ErrorCode(0x1);
    /// We failed, not the peer.
    pub const INTERNAL_ERROR: ErrorCode = ErrorCode(0x2);
    /// The peer overran a flow-control window.
    pub const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(0x3);
    /// A frame on a stream that is closed.
    pub const STREAM_CLOSED: ErrorCode = ErrorCode(0x5);
    /// A frame of a wrong size.
    pub const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(0x6);
    /// The stream was not processed at all: it can be sent again.
    pub const REFUSED_STREAM: ErrorCode = ErrorCode(0x7);
    /// The stream is no longer wanted.
    pub const CANCEL: ErrorCode = ErrorCode(0x8);
    /// The header tables differ.
    pub const COMPRESSION_ERROR: ErrorCode = ErrorCode(0x9);
    /// The peer asks for more than is bearable.
    pub const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(0xb);

    /// Its name in the standard, in the form of a class: `refused-stream`.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES
            .get(self.0 as usize)
            .map_or("unknown-code", |names| names.plain)
    }

    /// The error class of a stream that a server reset with it.
    #[must_use]
    pub fn reset_class(self) -> &'static str {
        NAMES
            .get(self.0 as usize)
            .map_or("reset-unknown-code", |names| names.reset)
    }

    /// The error class of an exchange under way when a server ended the connection with it.
    #[must_use]
    pub fn goaway_class(self) -> &'static str {
        NAMES
            .get(self.0 as usize)
            .map_or("goaway-unknown-code", |names| names.goaway)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#x})", self.name(), self.0)
    }
}

struct Names {
    plain: &'static str,
    reset: &'static str,
    goaway: &'static str,
}

macro_rules! names {
    ($($name:literal),*) => {
        [$(Names { plain: $name, reset: concat!("reset-", $name), goaway: concat!("goaway-", $name) }),*]
    };
}

/// By number, from 0.
static NAMES: [Names; 14] = names![
    "no-error",
    "protocol-error",
    "internal-error",
    "flow-control-error",
    "settings-timeout",
    "stream-closed",
    "frame-size-error",
    "refused-stream",
    "cancel",
    "compression-error",
    "connect-error",
    "enhance-your-calm",
    "inadequate-security",
    "http-1-1-required"
];
