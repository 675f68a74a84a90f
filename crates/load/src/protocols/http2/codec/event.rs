//! Events of the codec, and limits on its input.

use super::super::error::{CodecError, ErrorCode};
use super::super::hpack::HeaderListLimits;
use super::section::FieldSection;
use crate::protocols::http1::codec::HEAD_BYTES_MAX;

/// Limits on what a server can make the client buffer or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one compressed header block.
    pub block_bytes_max: usize,
    /// Frames of one header block.
    pub block_frames_max: u32,
    /// Limits on one decoded header block.
    pub list: HeaderListLimits,
    /// Bytes of one frame's payload, as announced.
    pub frame_bytes_max: u32,
    /// PING and SETTINGS frames, which need a reply, without progress of an exchange between them.
    pub reply_frames_max: u32,
    /// Other unproductive frames without progress of an exchange between them.
    pub unproductive_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            block_bytes_max: HEAD_BYTES_MAX,
            block_frames_max: 64,
            list: HeaderListLimits::OF_HEAD,
            frame_bytes_max: super::frame::FRAME_BYTES_DEFAULT,
            reply_frames_max: 1000,
            unproductive_max: 10_000,
        }
    }
}

/// Settings in a SETTINGS frame; `None` where the setting is not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SettingsChange {
    /// Smallest header table size in the frame.
    pub header_table_bytes: Option<u32>,
    /// Concurrent streams that the server allows.
    pub streams_max: Option<u32>,
    /// Initial window of a stream.
    pub initial_window_bytes: Option<u32>,
    /// Largest frame that the server accepts.
    pub frame_bytes_max: Option<u32>,
}

/// An event, from [`super::Codec::next`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'b> {
    /// The server's SETTINGS, to be acknowledged.
    Settings(SettingsChange),
    /// The server acknowledged our SETTINGS.
    SettingsAck,
    /// A complete header block.
    Headers {
        stream: u32,
        /// Whether it is the last of its stream.
        end: StreamEnd,
        /// Its decoded fields.
        section: FieldSection,
    },
    /// A header block with an invalid field.
    InvalidHeaders { stream: u32, error: CodecError },
    /// The next slice of a body; empty if only padding or the end arrived.
    Data {
        stream: u32,
        /// The bytes.
        slice: &'b [u8],
        /// Bytes that it uses of the windows: those of the whole frame, reported with its first slice.
        window_bytes: u32,
        /// Whether it is the last of its stream.
        end: StreamEnd,
    },
    /// RST_STREAM.
    Reset { stream: u32, code: ErrorCode },
    /// A PING, to be acknowledged.
    Ping([u8; 8]),
    /// GOAWAY: streams above the last one were not processed.
    GoAway {
        /// The last stream processed.
        last_stream: u32,
        code: ErrorCode,
    },
    /// More send window.
    WindowUpdate {
        /// The stream, 0 for the connection.
        stream: u32,
        /// Bytes.
        increment: u32,
    },
    /// An error that ends one stream only.
    StreamError { stream: u32, error: CodecError },
}

/// Whether a frame is the last of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// More follows.
    Open,
    Last,
}

impl StreamEnd {
    /// From the END_STREAM flag of a frame.
    #[must_use]
    pub fn of(head: &super::frame::FrameHeader) -> Self {
        if head.has(super::frame::END_STREAM) {
            StreamEnd::Last
        } else {
            StreamEnd::Open
        }
    }
}
