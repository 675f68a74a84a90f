//! Buffers of packets, kept once they were made.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::offload::HEADER_BYTES;

/// The largest piece: 64 KiB of IP, the header in front, and some to spare.
const LARGE_BYTES: usize = 65_536 + HEADER_BYTES + 1014;
/// A packet of a usual wire (1500 bytes) with room to spare.
const SMALL_BYTES: usize = 2048;
/// 128 MiB under way: 10 Gbit/s for 100 ms. Memory is used only as far as it was ever needed at once.
const LARGE_COUNT: usize = 2048;
/// 64 MiB of small ones: 300,000/s for 100 ms.
const SMALL_COUNT: usize = 32_768;

/// Room for a piece.
pub(super) type Buffer = Box<[u8]>;

/// The reader's side: buffers to fill. The one given back last is taken first, so that it is still in the cache.
pub(super) struct Pool {
    large: Shelf,
    small: Shelf,
}

/// The writer's side: where emptied buffers go.
pub(super) struct Return {
    large: SyncSender<Buffer>,
    small: SyncSender<Buffer>,
}

struct Shelf {
    here: Vec<Buffer>,
    coming: Receiver<Buffer>,
    /// How many may still be made, and how large.
    more: usize,
    bytes: usize,
}

/// Pieces under way at most.
pub(super) const PIECES_MAX: usize = LARGE_COUNT + SMALL_COUNT;

impl Pool {
    pub(super) fn new() -> (Self, Return) {
        let (large, large_back) = Shelf::new(LARGE_COUNT, LARGE_BYTES);
        let (small, small_back) = Shelf::new(SMALL_COUNT, SMALL_BYTES);
        let back = Return {
            large: large_back,
            small: small_back,
        };
        (Self { large, small }, back)
    }

    /// An empty large one.
    pub(super) fn large(&mut self) -> Option<Buffer> {
        self.large.take()
    }

    /// The piece in a buffer of its size, and a large buffer for the next one; `None` when there is no room: `filled` stays.
    pub(super) fn keep(&mut self, filled: &mut Buffer, length: usize) -> Option<Buffer> {
        if length <= SMALL_BYTES {
            let mut small = self.small.take()?;
            small[..length].copy_from_slice(&filled[..length]);
            return Some(small);
        }
        let next = self.large.take()?;
        Some(std::mem::replace(filled, next))
    }
}

impl Return {
    /// Gives a buffer back.
    pub(super) fn give(&self, buffer: Buffer) {
        let shelf = if buffer.len() == SMALL_BYTES {
            &self.small
        } else {
            &self.large
        };
        // There is room for all of them; a reader that has ended needs none.
        let _ = shelf.try_send(buffer);
    }
}

impl Shelf {
    fn new(count: usize, bytes: usize) -> (Self, SyncSender<Buffer>) {
        let (give, coming) = sync_channel(count);
        let shelf = Self {
            here: Vec::with_capacity(count),
            coming,
            more: count,
            bytes,
        };
        (shelf, give)
    }

    fn take(&mut self) -> Option<Buffer> {
        self.here.extend(self.coming.try_iter());
        self.here.pop().or_else(|| self.make())
    }

    /// Rare: only where more are under way than ever before.
    #[cold]
    fn make(&mut self) -> Option<Buffer> {
        self.more = self.more.checked_sub(1)?;
        Some(vec![0; self.bytes].into_boxed_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_gives_what_it_has_and_no_more_and_takes_it_back() {
        let (mut pool, back) = Pool::new();
        let mut filled = pool.large().unwrap();
        filled[0] = 7;
        let mut kept = Vec::new();
        while let Some(small) = pool.keep(&mut filled, SMALL_BYTES) {
            assert_eq!(small[0], 7);
            kept.push(small);
        }
        assert_eq!(kept.len(), SMALL_COUNT);
        let mut large = 0;
        while let Some(piece) = pool.keep(&mut filled, SMALL_BYTES + 1) {
            assert_eq!(piece.len(), LARGE_BYTES);
            large += 1;
        }
        assert_eq!(large, LARGE_COUNT - 1);
        back.give(kept.pop().unwrap());
        assert!(pool.keep(&mut filled, 100).is_some());
        assert!(pool.keep(&mut filled, 100).is_none());
    }
}
