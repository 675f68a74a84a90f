//! Protocol errors of a server in HTTP/2.

pub use tare_http2_frames::ErrorCode;
use thiserror::Error;

use super::hpack::HpackError;
use crate::client::ErrorClass;

/// What an error ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One stream: reset it, the others go on.
    Stream,
    Connection,
}

/// A protocol error of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CodecError {
    #[error(
        "the server answers in http/1: it does not speak http/2 on this port; use http/1.1, or enable http/2 there"
    )]
    SpeaksHttp1,
    #[error(
        "the server does not speak http/2 on this port: its first bytes are no SETTINGS frame; use http/1.1, or enable http/2 there"
    )]
    NoSettingsFirst,
    #[error("a frame of {size_bytes} bytes, at most {max_bytes} are allowed")]
    FrameTooLarge { size_bytes: u32, max_bytes: u32 },
    #[error("a {frame} frame of {size_bytes} bytes, which its type does not allow")]
    FrameSize {
        frame: &'static str,
        size_bytes: u32,
    },
    #[error("a PRIORITY frame of {size_bytes} bytes instead of 5")]
    PrioritySize { size_bytes: u32 },
    #[error("a {frame} frame on stream {stream}, where its type is not allowed")]
    FrameOnWrongStream { frame: &'static str, stream: u32 },
    #[error("a {frame} frame within a header block, where only its CONTINUATION is allowed")]
    BrokenHeaderBlock { frame: &'static str },
    #[error("a CONTINUATION frame without a header block to continue")]
    StrayContinuation,
    #[error("the padding of a {frame} frame is longer than the frame")]
    PaddingTooLong { frame: &'static str },
    #[error("the server pushes although SETTINGS_ENABLE_PUSH is 0")]
    Push,
    /// A header block that cannot be decoded.
    #[error(transparent)]
    Hpack(#[from] HpackError),
    #[error("a header block of more than {max_bytes} bytes or {max_frames} frames")]
    BlockTooLarge {
        /// Limit of its bytes.
        max_bytes: usize,
        /// Limit of its frames.
        max_frames: u32,
    },
    #[error("setting {setting:#x} has the value {value}, which it cannot have")]
    BadSetting { setting: u16, value: u32 },
    /// A window increment of zero for the connection.
    #[error("a WINDOW_UPDATE of 0 for the connection")]
    ZeroIncrement,
    /// A window increment of zero for a stream.
    #[error("a WINDOW_UPDATE of 0 for a stream")]
    ZeroStreamIncrement,
    #[error("the server raised the connection's window beyond 2^31-1 bytes")]
    WindowOverflow,
    /// A stream's window beyond 2³¹−1, by an increment.
    #[error("the server raised a stream's window beyond 2^31-1 bytes")]
    StreamWindowOverflow,
    #[error("the server sent more data than the connection's window allows")]
    WindowExceeded,
    #[error("the server sent more data than the stream's window allows")]
    StreamWindowExceeded,
    #[error("a {frame} frame on stream {stream}, which was never opened")]
    IdleStream { frame: &'static str, stream: u32 },
    #[error("a {frame} frame on stream {stream}, which the server had ended")]
    ClosedStream { frame: &'static str, stream: u32 },
    #[error("a DATA frame before the head of the answer")]
    DataBeforeHead,
    #[error("a second header block that does not end the stream")]
    TrailersWithoutEnd,
    #[error("an interim (1xx) answer ends the stream")]
    InterimEnds,
    #[error("more than {max} interim (1xx) answers before the final one")]
    TooManyInterim { max: u8 },
    #[error("the body has {got_bytes} bytes, its content-length says {stated_bytes}")]
    ContentLength {
        stated_bytes: u64,
        /// Bytes received when the mismatch was certain.
        got_bytes: u64,
    },
    #[error("a body in the answer to a HEAD request, or in one of status 204 or 304")]
    UnexpectedBody,
    #[error("the body of the answer is larger than {max_bytes} bytes; raise the body limit")]
    BodyTooLarge { max_bytes: u64 },
    #[error("the head of the answer has no single :status of three digits")]
    BadStatus,
    /// A pseudo-header field that a response cannot have, or that follows a regular field, or that is in trailers.
    #[error("a pseudo-header field where the answer cannot have it")]
    BadPseudoHeader,
    #[error("byte {byte:#04x} in a header name of the answer")]
    BadHeaderName {
        /// The offending byte, 0 if the name is empty.
        byte: u8,
    },
    #[error("byte {byte:#04x} in a header value of the answer, where it is not allowed")]
    BadHeaderValue { byte: u8 },
    /// A connection-specific header field (RFC 9113 §8.2.2).
    #[error("a connection-specific header field, which http/2 forbids")]
    ConnectionHeader,
    #[error("the content-length of the answer is not one number of bytes")]
    BadContentLength,
    #[error("more than {max} {frame} frames without any progress of an exchange")]
    Flood { frame: &'static str, max: u32 },
    /// Too many bytes of replies to control frames wait, because the server does not read.
    #[error(
        "more than {max_bytes} bytes of answers to PING, SETTINGS and DATA frames wait, for the server does not read"
    )]
    RepliesUnread { max_bytes: usize },
    #[error("a second GOAWAY raises the last stream from {before} to {after}")]
    GoAwayRaised { before: u32, after: u32 },
}

impl CodecError {
    /// Whether it ends the stream or the connection.
    #[must_use]
    pub fn scope(self) -> Scope {
        match self {
            CodecError::PrioritySize { .. }
            | CodecError::ZeroStreamIncrement
            | CodecError::StreamWindowOverflow
            | CodecError::StreamWindowExceeded
            | CodecError::DataBeforeHead
            | CodecError::TrailersWithoutEnd
            | CodecError::InterimEnds
            | CodecError::TooManyInterim { .. }
            | CodecError::ContentLength { .. }
            | CodecError::UnexpectedBody
            | CodecError::BodyTooLarge { .. }
            | CodecError::BadStatus
            | CodecError::BadPseudoHeader
            | CodecError::BadHeaderName { .. }
            | CodecError::BadHeaderValue { .. }
            | CodecError::ConnectionHeader
            | CodecError::BadContentLength => Scope::Stream,
            _ => Scope::Connection,
        }
    }

    /// The error class of the exchanges that it ends.
    #[must_use]
    pub fn class(self) -> ErrorClass {
        match self {
            CodecError::Hpack(
                HpackError::ListTooLarge { .. } | HpackError::TooManyFields { .. },
            )
            | CodecError::BlockTooLarge { .. } => ErrorClass::HEAD_TOO_LARGE,
            _ => ErrorClass::MALFORMED,
        }
    }

    /// The error code for RST_STREAM or GOAWAY.
    #[must_use]
    pub fn code(self) -> ErrorCode {
        match self {
            CodecError::FrameTooLarge { .. }
            | CodecError::FrameSize { .. }
            | CodecError::PrioritySize { .. } => ErrorCode::FRAME_SIZE_ERROR,
            // RFC 9113 §6.5.2: among the settings, only the initial window size has an error code of its own.
            CodecError::BadSetting { setting: 0x4, .. }
            | CodecError::WindowOverflow
            | CodecError::StreamWindowOverflow
            | CodecError::WindowExceeded
            | CodecError::StreamWindowExceeded => ErrorCode::FLOW_CONTROL_ERROR,
            CodecError::Hpack(
                HpackError::ListTooLarge { .. } | HpackError::TooManyFields { .. },
            )
            | CodecError::BlockTooLarge { .. }
            | CodecError::TooManyInterim { .. }
            | CodecError::RepliesUnread { .. }
            | CodecError::Flood { .. } => ErrorCode::ENHANCE_YOUR_CALM,
            CodecError::Hpack(_) => ErrorCode::COMPRESSION_ERROR,
            CodecError::ClosedStream { .. } => ErrorCode::STREAM_CLOSED,
            CodecError::BodyTooLarge { .. } => ErrorCode::CANCEL,
            _ => ErrorCode::PROTOCOL_ERROR,
        }
    }
}
