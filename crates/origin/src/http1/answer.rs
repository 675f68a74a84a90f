//! Writes an answer: its head, and its body in pieces, so that a large one needs no large buffer.

use super::head::ConnectionPolicy;
use crate::behaviour::{After, Behaviour, BodyFraming};
use crate::body::{BODY_PATTERN, PIECE_BYTES, push_hex, push_number, push_timestamps};

/// The source of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Pattern,
    /// The request's body, or a text, in the connection's buffer.
    Stored,
}

/// An answer and how much of it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub status: u16,
    pub source: Source,
    pub framing: BodyFraming,
    pub after: After,
    pub timestamps: bool,
    pub content_type: &'static str,
    policy: ConnectionPolicy,
    /// Of a HEAD request: without a body.
    is_head: bool,
    size_bytes: u64,
    written_bytes: u64,
}

impl Answer {
    pub(super) fn new(behaviour: &Behaviour, policy: ConnectionPolicy, is_head: bool) -> Self {
        let keeps = matches!(
            policy,
            ConnectionPolicy::KeepAlive11 | ConnectionPolicy::KeepAlive10
        );
        // HTTP/1.0 has no chunks (RFC 9112 §6.1).
        let framing = match (behaviour.framing, policy) {
            (BodyFraming::Chunked, ConnectionPolicy::KeepAlive10 | ConnectionPolicy::Close10) => {
                BodyFraming::UntilClose
            }
            (framing, _) => framing,
        };
        let closes = !keeps || framing == BodyFraming::UntilClose;
        Self {
            status: behaviour.status,
            source: Source::Pattern,
            framing,
            after: match behaviour.after {
                After::KeepAlive if closes => After::Close,
                after => after,
            },
            timestamps: behaviour.timestamps,
            content_type: "text/plain",
            policy,
            is_head,
            size_bytes: behaviour.size_bytes,
            written_bytes: 0,
        }
    }

    /// Takes the body from the connection's buffer.
    pub(super) fn stored(mut self, size_bytes: usize, content_type: &'static str) -> Self {
        self.source = Source::Stored;
        self.size_bytes = size_bytes as u64;
        self.content_type = content_type;
        self
    }

    pub(super) fn write_head(&self, arrived_ns: Option<u64>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"HTTP/1.1 ");
        push_number(out, u64::from(self.status));
        out.extend_from_slice(reason(self.status));
        if self.status != 204 {
            out.extend_from_slice(b"Content-Type: ");
            out.extend_from_slice(self.content_type.as_bytes());
            match self.framing {
                BodyFraming::Length => {
                    out.extend_from_slice(b"\r\nContent-Length: ");
                    push_number(out, self.size_bytes);
                }
                BodyFraming::Chunked => out.extend_from_slice(b"\r\nTransfer-Encoding: chunked"),
                BodyFraming::UntilClose => {}
            }
            out.extend_from_slice(b"\r\n");
        }
        match (self.after, self.policy) {
            (After::Close | After::Reset, _) => out.extend_from_slice(b"Connection: close\r\n"),
            (After::KeepAlive, ConnectionPolicy::KeepAlive10) => {
                out.extend_from_slice(b"Connection: keep-alive\r\n");
            }
            (After::KeepAlive, _) => {}
        }
        if self.timestamps {
            out.extend_from_slice(b"Tare-Timestamps: ");
            push_timestamps(out, arrived_ns);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Writes the next piece of the body; whether that was the last one.
    pub(super) fn write_piece(&mut self, stored: &[u8], out: &mut Vec<u8>) -> bool {
        if self.is_head || matches!(self.status, 204 | 304) {
            return true;
        }
        let left = self.size_bytes - self.written_bytes;
        let size = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE_BYTES);
        if size > 0 {
            let piece = match self.source {
                Source::Pattern => {
                    let start = usize::try_from(self.written_bytes % 26).unwrap_or(0);
                    &BODY_PATTERN[start..start + size]
                }
                Source::Stored => {
                    let start = usize::try_from(self.written_bytes).unwrap_or(0);
                    &stored[start..start + size]
                }
            };
            if self.framing == BodyFraming::Chunked {
                push_hex(out, size as u64);
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(piece);
            if self.framing == BodyFraming::Chunked {
                out.extend_from_slice(b"\r\n");
            }
            self.written_bytes += size as u64;
        }
        if self.written_bytes < self.size_bytes {
            return false;
        }
        if self.framing == BodyFraming::Chunked {
            out.extend_from_slice(b"0\r\n\r\n");
        }
        true
    }
}

fn reason(status: u16) -> &'static [u8] {
    match status {
        200 => b" OK\r\n",
        204 => b" No Content\r\n",
        304 => b" Not Modified\r\n",
        400 => b" Bad Request\r\n",
        404 => b" Not Found\r\n",
        413 => b" Content Too Large\r\n",
        429 => b" Too Many Requests\r\n",
        431 => b" Request Header Fields Too Large\r\n",
        500 => b" Internal Server Error\r\n",
        501 => b" Not Implemented\r\n",
        503 => b" Service Unavailable\r\n",
        // The reason phrase may be empty, but the space before it is required (RFC 9112 §4).
        _ => b" \r\n",
    }
}
