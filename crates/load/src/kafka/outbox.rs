//! What waits to be written to one connection: short requests that it keeps, and segments that stay with who sends them.

use std::collections::VecDeque;

use crate::client::{ConnId, Outlet};

/// Where the bytes of segments are found.
pub trait Segments {
    /// The bytes of a segment, as they were when it was handed over.
    fn segment(&self, id: u32) -> &[u8];
}

/// Of a client that sends short requests only.
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
    place: Place,
}

/// Where in its request a piece stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    first: bool,
    last: bool,
}

/// How far the writing of a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Went {
    /// The first byte went to the kernel at this time.
    First(i32, u64),
    /// All of it went.
    Whole(i32),
}

/// The pieces of one connection, in order.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that went.
    from: usize,
    spare: Vec<Vec<u8>>,
    /// Whether the kernel takes no more for now.
    full: bool,
}

/// Buffers kept for short requests.
const SPARE_MAX: usize = 8;

impl Outbox {
    /// An empty buffer for a short request.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Appends a short request.
    pub fn push(&mut self, bytes: Vec<u8>, correlation: i32) {
        self.pieces.push_back(Piece {
            bytes: Bytes::Own(bytes),
            correlation,
            place: Place {
                first: true,
                last: true,
            },
        });
    }

    /// Appends a request made of segments.
    pub fn push_segments(&mut self, ids: &[u32], correlation: i32) {
        for (at, &id) in ids.iter().enumerate() {
            self.pieces.push_back(Piece {
                bytes: Bytes::Segment(id),
                correlation,
                place: Place {
                    first: at == 0,
                    last: at + 1 == ids.len(),
                },
            });
        }
    }

    /// Whether there is something to write, and the kernel may take it.
    pub fn is_ready(&self) -> bool {
        !self.full && !self.pieces.is_empty()
    }

    /// The kernel takes more.
    pub fn room(&mut self) {
        self.full = false;
    }

    /// The connection is gone, and all that was to be written.
    pub fn reset(&mut self) {
        self.pieces.clear();
        self.from = 0;
        self.full = false;
    }

    /// Writes what the kernel takes.
    pub fn flush(
        &mut self,
        conn: ConnId,
        segments: &impl Segments,
        out: &mut impl Outlet,
        mut went: impl FnMut(Went),
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
            let taken = out.pour(conn, rest);
            if self.from == 0 && taken > 0 && piece.place.first {
                went(Went::First(piece.correlation, at_ns));
            }
            if taken < rest.len() {
                self.from += taken;
                self.full = true;
                return;
            }
            self.from = 0;
            if piece.place.last {
                went(Went::Whole(piece.correlation));
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
