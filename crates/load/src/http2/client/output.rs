//! Bytes on their way out of one connection, and which exchanges they begin.

use super::super::error::CodecError;
use super::streams::Streams;
use crate::client::{ANSWERS_BYTES_MAX, ConnId, Outlet, WaitCause, Written};

/// What is gathered for one write, and what the kernel has not taken yet.
#[derive(Debug, Default)]
pub struct Output {
    /// Frames for the next write.
    pub pending: Vec<u8>,
    /// Bytes of them that the server made us say.
    owed: usize,
    /// Streams whose first byte stands in `pending`.
    fresh: Vec<(u16, u32)>,
    /// Streams whose first byte stands in the write that the kernel has not begun.
    queued: Vec<(u16, u32)>,
    blocked: bool,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushed {
    /// Nothing was to be written.
    Nothing,
    /// It went; its streams began at this time.
    Sent(u64),
    /// The kernel takes nothing now; its streams count from this time.
    Queued(u64),
}

impl Output {
    /// Notes that a stream's first byte is in the next write.
    #[inline]
    pub fn begins(&mut self, place: u16, id: u32) {
        self.fresh.push((place, id));
    }

    /// Appends what the server makes us say, as often as it likes: acknowledgements and windows.
    ///
    /// # Errors
    /// When more of it waits than a server that reads would let wait.
    pub fn answer(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), CodecError> {
        let before = self.pending.len();
        write(&mut self.pending);
        self.owed += self.pending.len() - before;
        match self.owed > ANSWERS_BYTES_MAX {
            true => Err(CodecError::AnswersUnread {
                max_bytes: ANSWERS_BYTES_MAX,
            }),
            false => Ok(()),
        }
    }

    /// Whether a write waits for the kernel: more is gathered, but not given to the driver.
    #[inline]
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Gives what is gathered to the driver, in one write.
    #[inline]
    pub fn flush<P: Default>(
        &mut self,
        conn: ConnId,
        streams: &mut Streams<P>,
        out: &mut impl Outlet,
    ) -> Flushed {
        if self.blocked || self.pending.is_empty() {
            return Flushed::Nothing;
        }
        let written = out.write(conn, &self.pending);
        self.pending.clear();
        self.owed = 0;
        match written {
            Written::Sent(at_ns) => {
                for (place, id) in self.fresh.drain(..) {
                    let stream = streams.at(place);
                    if stream.id == id {
                        stream.sent_ns = Some(at_ns);
                        stream.begun_ns = at_ns;
                    }
                }
                Flushed::Sent(at_ns)
            }
            Written::Queued => {
                let now_ns = out.now_ns();
                self.blocked = true;
                std::mem::swap(&mut self.fresh, &mut self.queued);
                for &(place, id) in &self.queued {
                    let stream = streams.at(place);
                    if stream.id == id {
                        stream.begun_ns = now_ns;
                        stream.waited.get_or_insert(WaitCause::SocketBuffer);
                    }
                }
                Flushed::Queued(now_ns)
            }
        }
    }

    /// The kernel took the first byte of what it had not taken.
    pub fn wrote<P: Default>(&mut self, at_ns: u64, streams: &mut Streams<P>) {
        self.blocked = false;
        for (place, id) in self.queued.drain(..) {
            let stream = streams.at(place);
            if stream.id == id {
                stream.sent_ns = Some(at_ns);
            }
        }
    }

    /// Of a fresh connection, keeping buffers.
    pub fn reset(&mut self) {
        self.pending.clear();
        self.owed = 0;
        self.fresh.clear();
        self.queued.clear();
        self.blocked = false;
    }
}
