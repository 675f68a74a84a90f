//! What goes into the codec beside bytes, and what comes out: request kinds, limits, events.

use super::head::Version;

/// What a request was, as far as the framing of its answer depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// An answer has a body as its head says: GET, POST, …
    Ordinary,
    /// HEAD: the answer has no body whatever its head says.
    Head,
    /// CONNECT: behind an answer of 2xx the connection is a tunnel.
    Connect,
}

/// Bounds on what a server may make us keep or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one head, and of one trailer section.
    pub head_bytes_max: usize,
    /// Bytes of one body.
    pub body_bytes_max: u64,
    /// Interim (1xx) answers before one final answer.
    pub interim_max: u32,
    /// Leading zeros, blanks and extensions in the size lines of one answer's chunks together.
    pub chunk_padding_bytes_max: usize,
    /// Requests begun and not yet answered.
    pub pipeline_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes_max: 64 * 1024,
            body_bytes_max: 16 << 30,
            interim_max: 64,
            chunk_padding_bytes_max: 16 * 1024,
            pipeline_max: 1024,
        }
    }
}

/// The head of a final answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Status, 200 to 599.
    pub status: u16,
    /// Version in the status line.
    pub version: Version,
    /// Whether the connection can be used again behind this answer.
    pub keep_alive: bool,
    /// The stated length, also where the answer has no body (HEAD, 304).
    pub content_length: Option<u64>,
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Status of the answer.
    pub status: u16,
    /// Body bytes received, framing excluded.
    pub body_bytes: u64,
    /// Whether the connection can be used again.
    pub keep_alive: bool,
    /// Interim (1xx) answers skipped before this one.
    pub interim: u32,
}

/// What a [`Feed`](super::Feed) yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'b> {
    /// A final answer begins.
    Head(Head),
    /// The next slice of its body, never empty.
    Body(&'b [u8]),
    /// The answer is complete; the oldest request begun is answered.
    End(End),
    /// Bytes of a tunnel, behind the answer to CONNECT.
    Tunnel(&'b [u8]),
}
