//! What comes out of the codec, and the limits on what goes in.

use super::super::error::{CodecError, ErrorCode};
use super::super::hpack::ListLimits;
use super::section::Section;

/// Bounds on what a server may make us keep or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one compressed header block.
    pub block_bytes_max: usize,
    /// Frames of one header block.
    pub block_frames_max: u32,
    /// Bounds on one decoded header block.
    pub list: ListLimits,
    /// Bytes of one frame's payload, as announced.
    pub frame_bytes_max: u32,
    /// PING and SETTINGS frames, each to be answered, without progress of an exchange between them.
    pub answered_max: u32,
    /// Frames of the other types that bring nothing, without progress of an exchange between them.
    pub idle_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            block_bytes_max: 64 * 1024,
            block_frames_max: 64,
            list: ListLimits {
                bytes_max: 64 * 1024,
                fields_max: 512,
            },
            frame_bytes_max: super::frame::FRAME_BYTES_DEFAULT,
            answered_max: 1000,
            idle_max: 10_000,
        }
    }
}

/// What a SETTINGS frame changes; `None` where it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SettingsChange {
    /// Smallest size of the server's header table that it names.
    pub header_table_bytes: Option<u32>,
    /// Streams it lets us have open.
    pub streams_max: Option<u32>,
    /// Window of a new stream.
    pub initial_window_bytes: Option<u32>,
    /// Largest frame it takes.
    pub frame_bytes_max: Option<u32>,
}

/// What [`super::Codec::next`] yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'b> {
    /// The server's parameters: to be acknowledged.
    Settings(SettingsChange),
    /// The server acknowledged ours.
    SettingsAck,
    /// A header block.
    Headers {
        /// Its stream.
        stream: u32,
        /// Whether it is the last of its stream.
        end: StreamEnd,
        /// What is in it.
        section: Section,
    },
    /// A header block with something wrong in it.
    WrongHeaders {
        /// Its stream.
        stream: u32,
        /// What.
        error: CodecError,
    },
    /// The next slice of a body; empty where only padding or the end came.
    Data {
        /// Its stream.
        stream: u32,
        /// The bytes.
        slice: &'b [u8],
        /// What it takes from the windows: the whole frame's, told with its first slice.
        window_bytes: u32,
        /// Whether it is the last of its stream.
        end: StreamEnd,
    },
    /// The end of a stream by error.
    Reset {
        /// The stream.
        stream: u32,
        /// Why.
        code: ErrorCode,
    },
    /// A PING to be answered.
    Ping([u8; 8]),
    /// The end of the connection: streams above the last one were not processed.
    GoAway {
        /// The last stream processed.
        last_stream: u32,
        /// Why.
        code: ErrorCode,
    },
    /// Room for more data.
    WindowUpdate {
        /// The stream, 0 for the connection.
        stream: u32,
        /// How much.
        increment: u32,
    },
    /// An error that ends one stream only.
    StreamFault {
        /// The stream.
        stream: u32,
        /// The error.
        error: CodecError,
    },
}

/// Whether a frame is the last of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// More follows.
    Open,
    /// It is.
    Last,
}

impl StreamEnd {
    /// Of a frame with or without END_STREAM.
    #[must_use]
    pub fn of(head: &super::frame::FrameHead) -> Self {
        if head.has(super::frame::END_STREAM) {
            StreamEnd::Last
        } else {
            StreamEnd::Open
        }
    }
}
