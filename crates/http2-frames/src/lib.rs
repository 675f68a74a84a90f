//! HTTP/2 wire format, without I/O: frames, header compression, error codes; and single exchanges over any blocking stream.
//!
//! Used by the generator as a client and by the origin as a server; what only one of them needs is in that crate. Probes and calls
//! before a load are single exchanges.

pub mod exchange;
pub mod field;
pub mod frame;
pub mod grpc;
pub mod gzip;
pub mod hpack;

use std::fmt;

/// An error code as RST_STREAM and GOAWAY carry it (RFC 9113 §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    pub const NO_ERROR: ErrorCode = ErrorCode(0x0);
    /// The peer violated the protocol.
    pub const PROTOCOL_ERROR: ErrorCode = ErrorCode(0x1);
    /// An internal error of the sender, not of the peer.
    pub const INTERNAL_ERROR: ErrorCode = ErrorCode(0x2);
    /// The peer exceeded a flow-control window.
    pub const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(0x3);
    /// A frame on a closed stream.
    pub const STREAM_CLOSED: ErrorCode = ErrorCode(0x5);
    /// A frame of a wrong size.
    pub const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(0x6);
    /// The stream was not processed: the request can be sent again.
    pub const REFUSED_STREAM: ErrorCode = ErrorCode(0x7);
    /// The stream is no longer needed.
    pub const CANCEL: ErrorCode = ErrorCode(0x8);
    /// Header compression state cannot be maintained.
    pub const COMPRESSION_ERROR: ErrorCode = ErrorCode(0x9);
    /// The peer generates excessive load.
    pub const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(0xb);

    /// Its name in the standard in kebab case, such as `refused-stream`.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES
            .get(self.0 as usize)
            .map_or("unknown-code", |names| names.plain)
    }

    /// The error class of an exchange whose stream the server reset with it.
    #[must_use]
    pub fn reset_class(self) -> &'static str {
        NAMES
            .get(self.0 as usize)
            .map_or("reset-unknown-code", |names| names.reset)
    }

    /// The error class of an exchange that was under way when the server sent GOAWAY with it.
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
