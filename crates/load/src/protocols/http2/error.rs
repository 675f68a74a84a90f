//! Protocol errors of a server in HTTP/2.

pub use tare_http2_frames::ErrorCode;
use thiserror::Error;

use super::hpack::HpackError;

/// What an error ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One stream: reset it, the others go on.
    Stream,
    /// The connection.
    Connection,
}

/// A protocol error of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CodecError {
    /// The server speaks HTTP/1.
    #[error(
        "the server answers in http/1: it does not speak http/2 on this port; use http/1.1, or enable http/2 there"
    )]
    SpeaksHttp1,
    /// The first frame is not SETTINGS.
    #[error("the server's first frame is not SETTINGS; check the port's protocol")]
    NoSettingsFirst,
    /// A frame larger than our SETTINGS allow.
    #[error("a frame of {size_bytes} bytes, at most {max_bytes} are allowed")]
    FrameTooLarge {
        /// As announced.
        size_bytes: u32,
        /// The limit.
        max_bytes: u32,
    },
    /// A frame whose length its type does not allow.
    #[error("a {frame} frame of {size_bytes} bytes, which its type does not allow")]
    FrameSize {
        /// Name of the type.
        frame: &'static str,
        /// As announced.
        size_bytes: u32,
    },
    /// A PRIORITY frame that is not five bytes long.
    #[error("a PRIORITY frame of {size_bytes} bytes instead of 5")]
    PrioritySize {
        /// As announced.
        size_bytes: u32,
    },
    /// A frame on a stream where its type is not allowed.
    #[error("a {frame} frame on stream {stream}, where its type is not allowed")]
    FrameOnWrongStream {
        /// Name of the type.
        frame: &'static str,
        /// As sent.
        stream: u32,
    },
    /// Something else than CONTINUATION within a header block.
    #[error("a {frame} frame within a header block, where only its CONTINUATION is allowed")]
    BrokenHeaderBlock {
        /// Name of the type.
        frame: &'static str,
    },
    /// CONTINUATION without a header block before it.
    #[error("a CONTINUATION frame without a header block to continue")]
    StrayContinuation,
    /// The padding does not fit in its frame.
    #[error("the padding of a {frame} frame is longer than the frame")]
    PaddingTooLong {
        /// Name of the type.
        frame: &'static str,
    },
    /// PUSH_PROMISE, which our SETTINGS forbid.
    #[error("the server pushes although SETTINGS_ENABLE_PUSH is 0")]
    Push,
    /// A header block that cannot be decoded.
    #[error(transparent)]
    Hpack(#[from] HpackError),
    /// A compressed header block over the limit.
    #[error("a header block of more than {max_bytes} bytes or {max_frames} frames")]
    BlockTooLarge {
        /// Limit of its bytes.
        max_bytes: usize,
        /// Limit of its frames.
        max_frames: u32,
    },
    /// A setting with a value that it cannot have.
    #[error("setting {setting:#x} has the value {value}, which it cannot have")]
    BadSetting {
        /// Its identifier.
        setting: u16,
        /// As sent.
        value: u32,
    },
    /// A window increment of zero for the connection.
    #[error("a WINDOW_UPDATE of 0 for the connection")]
    ZeroIncrement,
    /// A window increment of zero for a stream.
    #[error("a WINDOW_UPDATE of 0 for a stream")]
    ZeroStreamIncrement,
    /// The connection's window beyond 2³¹−1.
    #[error("the server raised the connection's window beyond 2^31-1 bytes")]
    WindowOverflow,
    /// A stream's window beyond 2³¹−1, by an increment.
    #[error("the server raised a stream's window beyond 2^31-1 bytes")]
    StreamWindowOverflow,
    /// More data than the connection's window allows.
    #[error("the server sent more data than the connection's window allows")]
    WindowExceeded,
    /// More data than a stream's window allows.
    #[error("the server sent more data than the stream's window allows")]
    StreamWindowExceeded,
    /// A frame on a stream that was never opened.
    #[error("a {frame} frame on stream {stream}, which was never opened")]
    IdleStream {
        /// Name of the type.
        frame: &'static str,
        /// As sent.
        stream: u32,
    },
    /// A frame after the end of its stream.
    #[error("a {frame} frame on stream {stream}, which the server had ended")]
    ClosedStream {
        /// Name of the type.
        frame: &'static str,
        /// As sent.
        stream: u32,
    },
    /// DATA before the head of the response.
    #[error("a DATA frame before the head of the answer")]
    DataBeforeHead,
    /// A second header block that does not end the stream.
    #[error("a second header block that does not end the stream")]
    TrailersWithoutEnd,
    /// An interim response that ends the stream.
    #[error("an interim (1xx) answer ends the stream")]
    InterimEnds,
    /// More interim responses than the limit.
    #[error("more than {max} interim (1xx) answers before the final one")]
    TooManyInterim {
        /// The limit.
        max: u8,
    },
    /// The length of the body is not its content-length.
    #[error("the body has {got_bytes} bytes, its content-length says {stated_bytes}")]
    ContentLength {
        /// As stated.
        stated_bytes: u64,
        /// Bytes received when the mismatch was certain.
        got_bytes: u64,
    },
    /// A body in a response that cannot have one.
    #[error("a body in the answer to a HEAD request, or in one of status 204 or 304")]
    UnexpectedBody,
    /// The body is over the limit.
    #[error("the body of the answer is larger than {max_bytes} bytes; raise the body limit")]
    BodyTooLarge {
        /// The limit.
        max_bytes: u64,
    },
    /// A head without `:status`, or with two.
    #[error("the head of the answer has no single :status of three digits")]
    BadStatus,
    /// A pseudo-header field that a response cannot have, or that follows a regular field, or that is in trailers.
    #[error("a pseudo-header field where the answer cannot have it")]
    BadPseudoHeader,
    /// A field name with an upper-case letter or another invalid byte.
    #[error("byte {byte:#04x} in a header name of the answer")]
    BadHeaderName {
        /// The offending byte, 0 if the name is empty.
        byte: u8,
    },
    /// A field value with a line break or zero byte, or with a space or tab at an end.
    #[error("byte {byte:#04x} in a header value of the answer, where it is not allowed")]
    BadHeaderValue {
        /// The offending byte.
        byte: u8,
    },
    /// A connection-specific header field (RFC 9113 §8.2.2).
    #[error("a connection-specific header field, which http/2 forbids")]
    ConnectionHeader,
    /// Content-lengths that differ, or one that is not a number.
    #[error("the content-length of the answer is not one number of bytes")]
    BadContentLength,
    /// More frames without progress of an exchange than the limit: a flood.
    #[error("more than {max} {frame} frames without any progress of an exchange")]
    Flood {
        /// Name of the type.
        frame: &'static str,
        /// The limit.
        max: u32,
    },
    /// Too many bytes of replies to control frames wait, because the server does not read.
    #[error(
        "more than {max_bytes} bytes of answers to PING, SETTINGS and DATA frames wait, for the server does not read"
    )]
    RepliesUnread {
        /// The limit.
        max_bytes: usize,
    },
    /// The last stream of a second GOAWAY is higher than that of the first.
    #[error("a second GOAWAY raises the last stream from {before} to {after}")]
    GoAwayRaised {
        /// Of the first.
        before: u32,
        /// Of the second.
        after: u32,
    },
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
