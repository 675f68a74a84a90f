//! Send buffer of one connection, and which streams begin in it.

use super::super::error::CodecError;
use super::streams::Streams;
use crate::client::{ConnId, Outlet, REPLY_BYTES_MAX, WaitCause, Written};

/// Frames for the next write, and streams whose start waits for the kernel.
#[derive(Debug, Default)]
pub struct Output {
    /// Frames for the next write.
    pub pending: Vec<u8>,
    /// Bytes of replies to control frames in `pending`.
    reply_bytes: usize,
    /// Streams whose first byte is in `pending`.
    fresh: Vec<(u16, u32)>,
    /// Streams whose first byte is in the write that the kernel has not accepted yet.
    queued: Vec<(u16, u32)>,
    blocked: bool,
}

/// Result of a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushed {
    /// Nothing to write, or a write is blocked.
    Nothing,
    /// Written; its streams were sent at this time.
    Sent(u64),
    /// The socket buffer is full; timeouts of its streams count from this time.
    Queued(u64),
}

impl Output {
    /// Records that a stream's first byte is in the next write.
    #[inline]
    pub fn begins(&mut self, slot: u16, id: u32) {
        self.fresh.push((slot, id));
    }

    /// Appends a reply to a control frame: an acknowledgement or a window update.
    ///
    /// # Errors
    /// When more than [`REPLY_BYTES_MAX`] bytes of replies wait: the server does not read.
    pub fn answer(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), CodecError> {
        let before = self.pending.len();
        write(&mut self.pending);
        self.reply_bytes += self.pending.len() - before;
        match self.reply_bytes > REPLY_BYTES_MAX {
            true => Err(CodecError::RepliesUnread {
                max_bytes: REPLY_BYTES_MAX,
            }),
            false => Ok(()),
        }
    }

    /// Whether a write waits for the kernel: frames are then buffered only.
    #[inline]
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Writes all buffered frames at once.
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
        self.reply_bytes = 0;
        match written {
            Written::Sent(at_ns) => {
                for (slot, id) in self.fresh.drain(..) {
                    let stream = streams.at(slot);
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
                for &(slot, id) in &self.queued {
                    let stream = streams.at(slot);
                    if stream.id == id {
                        stream.begun_ns = now_ns;
                        stream.waited.get_or_insert(WaitCause::SocketBuffer);
                    }
                }
                Flushed::Queued(now_ns)
            }
        }
    }

    /// The kernel accepted the first byte of the blocked write.
    pub fn wrote<P: Default>(&mut self, at_ns: u64, streams: &mut Streams<P>) {
        self.blocked = false;
        for (slot, id) in self.queued.drain(..) {
            let stream = streams.at(slot);
            if stream.id == id {
                stream.sent_ns = Some(at_ns);
            }
        }
    }

    /// Back to the state of a new connection, keeping buffers.
    pub fn reset(&mut self) {
        self.pending.clear();
        self.reply_bytes = 0;
        self.fresh.clear();
        self.queued.clear();
        self.blocked = false;
    }
}
