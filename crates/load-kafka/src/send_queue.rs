//! The send queue of one connection: short requests that it owns, and segments that stay in the sender's buffers.

use std::collections::VecDeque;

use tare_load::client::{ConnId, Outlet};

/// Gives the bytes of segments by their id.
pub trait Segments {
    /// The bytes of a segment; they must not change until it is written.
    fn segment(&self, id: u32) -> &[u8];
}

/// No segments: for clients that send short requests only.
#[derive(Debug, Clone, Copy)]
pub struct NoSegments;

impl Segments for NoSegments {
    fn segment(&self, _id: u32) -> &[u8] {
        &[]
    }
}

#[derive(Debug)]
enum Bytes {
    Own(Vec<u8>),
    Segment(u32),
}

#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    correlation: i32,
    /// Whether it is the first one of its request.
    is_first: bool,
    is_last: bool,
}

/// Progress of writing a request, by its correlation id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteProgress {
    /// The kernel took the first byte at this time.
    Started(i32, u64),
    /// The kernel took the last byte.
    Written(i32),
}

/// The pieces to be written, in order.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that are written.
    from: usize,
    spare: Vec<Vec<u8>>,
    /// Whether the socket buffer is full.
    full: bool,
}

/// Spare buffers that are kept for short requests.
const SPARE_MAX: usize = 8;

impl SendQueue {
    /// An empty buffer for a short request.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Appends a short request.
    pub fn push(&mut self, bytes: Vec<u8>, correlation: i32) {
        self.pieces.push_back(Piece {
            bytes: Bytes::Own(bytes),
            correlation,
            is_first: true,
            is_last: true,
        });
    }

    /// Appends a request made of segments.
    pub fn push_segments(&mut self, ids: &[u32], correlation: i32) {
        for (at, &id) in ids.iter().enumerate() {
            self.pieces.push_back(Piece {
                bytes: Bytes::Segment(id),
                correlation,
                is_first: at == 0,
                is_last: at + 1 == ids.len(),
            });
        }
    }

    /// Whether there is something to write, and the kernel may take it.
    pub fn is_ready(&self) -> bool {
        !self.full && !self.pieces.is_empty()
    }

    /// The socket is writable again.
    pub fn on_writable(&mut self) {
        self.full = false;
    }

    /// Drops everything: the connection is closed.
    pub fn reset(&mut self) {
        self.pieces.clear();
        self.from = 0;
        self.full = false;
    }

    /// Writes as much as the kernel takes.
    pub fn flush(
        &mut self,
        conn: ConnId,
        segments: &impl Segments,
        out: &mut impl Outlet,
        mut progress: impl FnMut(WriteProgress),
    ) {
        while let Some(piece) = self.pieces.front() {
            if self.full {
                return;
            }
            let bytes = match &piece.bytes {
                Bytes::Own(bytes) => bytes,
                Bytes::Segment(id) => segments.segment(*id),
            };
            let at_ns = out.now_ns();
            let rest = &bytes[self.from..];
            let taken = out.try_write(conn, rest);
            if self.from == 0 && taken > 0 && piece.is_first {
                progress(WriteProgress::Started(piece.correlation, at_ns));
            }
            if taken < rest.len() {
                self.from += taken;
                self.full = true;
                return;
            }
            self.from = 0;
            if piece.is_last {
                progress(WriteProgress::Written(piece.correlation));
            }
            if let Some(Piece {
                bytes: Bytes::Own(mut bytes),
                ..
            }) = self.pieces.pop_front()
                && self.spare.len() < SPARE_MAX
            {
                bytes.clear();
                self.spare.push(bytes);
            }
        }
    }
}
