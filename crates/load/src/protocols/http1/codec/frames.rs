//! Types of the codec's interface: request kinds, limits, events.

use super::head::{ContentCoding, HttpVersion};

/// Bytes of a head at most, over HTTP/2 too: servers refuse heads of more than 8 to 64 KiB themselves.
pub const HEAD_BYTES_MAX: usize = 256 * 1024;

/// Kind of a request, as far as the framing of its response depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// The response has a body as its head says: GET, POST, …
    Ordinary,
    /// HEAD: the response has no body, whatever its head says.
    Head,
    /// CONNECT: after a 2xx response the connection is a tunnel.
    Connect,
}

/// Limits on what a server can make the client buffer or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one head, and of one trailer section.
    pub head_bytes_max: usize,
    pub body_bytes_max: u64,
    /// Interim (1xx) responses before one final response.
    pub interim_max: u32,
    /// Bytes of leading zeros, spaces and extensions in all chunk size lines of one response together.
    pub chunk_padding_bytes_max: usize,
    /// Requests begun and not yet answered.
    pub pipeline_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes_max: HEAD_BYTES_MAX,
            body_bytes_max: 16 << 30,
            interim_max: 64,
            chunk_padding_bytes_max: 16 * 1024,
            pipeline_max: 1024,
        }
    }
}

/// The head of a final response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Status, 200 to 999.
    pub status: u16,
    /// Version in the status line.
    pub version: HttpVersion,
    /// Whether the connection can be used again after this response.
    pub keep_alive: bool,
    /// The stated length, also where the response has no body (HEAD, 304).
    pub content_length: Option<u64>,
    /// Coding of the body.
    pub coding: ContentCoding,
}

/// The end of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Status of the response.
    pub status: u16,
    /// Body bytes received, framing excluded.
    pub body_bytes: u64,
    /// Whether the connection can be used again.
    pub keep_alive: bool,
    /// Interim (1xx) responses skipped before this one.
    pub interim: u32,
}

/// What a [`Feed`](super::Feed) yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'b> {
    /// A final response begins.
    Head(Head),
    /// The next slice of its body, never empty.
    Body(&'b [u8]),
    /// The response to the oldest outstanding request is complete.
    End(End),
    /// Bytes of a tunnel, after the response to CONNECT.
    Tunnel(&'b [u8]),
}
