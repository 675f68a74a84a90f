//! Memory for packets in transit: blocks that all links of a run share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::offload::HEADER_BYTES;
use super::sys::memory::{BLOCK_BYTES, Block, BlockOwner, BlockSlice};

/// The largest piece: 64 KiB of IP, the largest fixed header of IP, and the virtio header.
const PIECE_BYTES_MAX: usize = 65_536 + 40 + HEADER_BYTES;
/// Least bytes of a block that a piece takes, so that a limit of bytes also limits pieces.
const PIECE_BYTES_MIN: usize = 512;
/// 128 MiB: 10 Gbit/s for 100 ms.
const SHARED_BLOCKS_MAX: usize = 512;
/// Blocks of a direction's own, so that no link depends on what others need.
const OWN_BLOCKS_MAX: usize = 2;
/// How often unused blocks are returned to the kernel.
pub(super) const TRIM_EVERY_NS: u64 = 250_000_000;
/// Blocks returned at a time: 8 MiB, which takes less than a millisecond.
const TRIM_BLOCKS_MAX: usize = 32;

/// Blocks of memory that several links share: at most 128 MiB, allocated as packets in transit need them.
#[derive(Debug)]
pub struct Pool {
    blocks_max: usize,
    free_list: Mutex<FreeList>,
}

#[derive(Debug, Default)]
struct FreeList {
    /// The block that was released last is used first: it may still be in the cache.
    free: Vec<Block>,
    /// The fewest free blocks since the last trim.
    free_min: usize,
    trimmed_ns: u64,
    /// Free and in use.
    blocks: usize,
}

impl Default for Pool {
    fn default() -> Self {
        Self::of(SHARED_BLOCKS_MAX)
    }
}

impl Pool {
    fn of(blocks_max: usize) -> Self {
        Self {
            blocks_max,
            free_list: Mutex::default(),
        }
    }

    /// Bytes allocated from the kernel, in use or not.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.free_list().blocks * BLOCK_BYTES
    }

    /// Takes a whole block.
    fn allocate(self: &Arc<Self>) -> Option<BlockSlice> {
        let block = self.free_list().take(self.blocks_max)?;
        Some(BlockSlice::whole(
            block,
            Arc::clone(self) as Arc<dyn BlockOwner>,
        ))
    }

    /// Returns blocks to the kernel that were not used since the last trim.
    fn trim(&self, now_ns: u64) {
        // Unmapped without the lock.
        let unused: Vec<Block> = {
            let mut free_list = self.free_list();
            if now_ns < free_list.trimmed_ns + TRIM_EVERY_NS {
                return;
            }
            let unused = free_list.free_min.min(TRIM_BLOCKS_MAX);
            free_list.blocks -= unused;
            free_list.free_min = free_list.free.len() - unused;
            free_list.trimmed_ns = now_ns;
            free_list.free.drain(..unused).collect()
        };
        drop(unused);
    }

    fn free_list(&self) -> MutexGuard<'_, FreeList> {
        // No code panics while it holds the lock, and its numbers are consistent between any two statements.
        self.free_list
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlockOwner for Pool {
    fn release(&self, block: Block) {
        self.free_list().free.push(block);
    }
}

impl FreeList {
    fn take(&mut self, blocks_max: usize) -> Option<Block> {
        if let Some(block) = self.free.pop() {
            self.free_min = self.free_min.min(self.free.len());
            return Some(block);
        }
        if self.blocks >= blocks_max {
            return None;
        }
        let block = Block::new()?;
        self.blocks += 1;
        Some(block)
    }
}

/// The read buffer of a direction.
pub(super) struct Buffer {
    own: Arc<Pool>,
    shared: Arc<Pool>,
    /// The rest of the current block; `None` if no block is free.
    rest: Option<BlockSlice>,
    /// Buffer for a piece that is read without a block, and dropped.
    overflow: Box<[u8]>,
}

impl Buffer {
    pub(super) fn new(shared: Arc<Pool>) -> Self {
        Self {
            own: Arc::new(Pool::of(OWN_BLOCKS_MAX)),
            shared,
            rest: None,
            overflow: vec![0; PIECE_BYTES_MAX].into_boxed_slice(),
        }
    }

    /// Space for the next piece, of any size.
    pub(super) fn free_space(&mut self) -> &mut [u8] {
        let left = self.rest.as_deref().map_or(0, <[u8]>::len);
        if left < PIECE_BYTES_MAX {
            // Drop the rest first: its block may become free by that.
            self.rest = None;
            self.rest = self.own.allocate().or_else(|| self.shared.allocate());
        }
        match &mut self.rest {
            Some(rest) => rest,
            None => &mut self.overflow,
        }
    }

    /// The piece that was read into the free space.
    pub(super) fn filled(&self, length: usize) -> &[u8] {
        let free_space = self.rest.as_deref().unwrap_or(&self.overflow);
        &free_space[..length]
    }

    /// Takes the memory of that piece, which may be longer than the piece; `None` if it is not in a block.
    pub(super) fn keep(&mut self, length: usize) -> Option<BlockSlice> {
        Some(self.rest.as_mut()?.cut(length.max(PIECE_BYTES_MIN)))
    }

    /// Whether the links' shared pool has memory.
    pub(super) fn is_shared(&self) -> bool {
        self.shared.bytes() > 0
    }

    /// Releases the rest of the current block, and trims the shared pool.
    pub(super) fn trim(&mut self, now_ns: u64) {
        self.rest = None;
        self.shared.trim(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads and keeps pieces of this length, each filled with its number, until there is no room.
    fn fill(buffer: &mut Buffer, length: usize) -> Vec<BlockSlice> {
        let mut kept: Vec<BlockSlice> = Vec::new();
        loop {
            buffer.free_space()[..length].fill(kept.len() as u8);
            assert_eq!(buffer.filled(length), vec![kept.len() as u8; length]);
            match buffer.keep(length) {
                Some(part) => kept.push(part),
                None => return kept,
            }
        }
    }

    #[test]
    fn pieces_take_their_own_length_of_memory_and_never_more_than_the_limit() {
        let shared = Arc::new(Pool::of(6));
        let mut buffer = Buffer::new(Arc::clone(&shared));
        assert_eq!(shared.bytes(), 0);
        for (length, pieces) in [
            // Own blocks and shared ones, but for the room that the largest piece needs at the end of each.
            (1500, 8 * ((BLOCK_BYTES - PIECE_BYTES_MAX) / 1500 + 1)),
            // As TCP hands them down: 45 segments of 1448 bytes and both headers.
            (45 * 1448 + 62, 8 * 4),
            (62, 8 * ((BLOCK_BYTES - PIECE_BYTES_MAX) / 512 + 1)),
        ] {
            let kept = fill(&mut buffer, length);
            assert_eq!(kept.len(), pieces, "{length}");
            assert_eq!(shared.bytes(), 6 * BLOCK_BYTES);
            for (number, part) in kept.iter().enumerate() {
                assert!(part[..length].iter().all(|byte| *byte == number as u8));
                assert_eq!(part.len(), length.max(PIECE_BYTES_MIN));
            }
        }
    }

    #[test]
    fn memory_is_lent_again_as_soon_as_the_last_part_of_a_block_is_gone() {
        let mut buffer = Buffer::new(Arc::new(Pool::of(0)));
        let mut kept = fill(&mut buffer, 60_000);
        assert_eq!(kept.len(), 2 * 4);
        // The first block still has a part.
        kept.drain(1..4);
        buffer.free_space();
        assert!(buffer.keep(100).is_none());
        // Without it all of it is there.
        kept.remove(0);
        assert_eq!(fill(&mut buffer, 60_000).len(), 4);
    }

    #[test]
    fn a_way_has_room_of_its_own_when_others_have_taken_all_that_is_shared() {
        let shared = Arc::new(Pool::of(3));
        let mut greedy = Buffer::new(Arc::clone(&shared));
        let _kept = fill(&mut greedy, 60_000);
        let mut other = Buffer::new(shared);
        assert_eq!(fill(&mut other, 60_000).len(), OWN_BLOCKS_MAX * 4);
    }

    #[test]
    fn what_nobody_needs_from_one_look_to_the_next_goes_back_to_the_kernel() {
        let shared = Arc::new(Pool::of(50));
        let mut buffer = Buffer::new(Arc::clone(&shared));
        let mut kept = fill(&mut buffer, 60_000);
        let blocks = || shared.bytes() / BLOCK_BYTES;
        assert_eq!(blocks(), 50);
        // Nothing is free, so nothing is returned, …
        let mut now_ns = TRIM_EVERY_NS;
        buffer.trim(now_ns);
        assert_eq!(blocks(), 50);
        // … nor what was in use since.
        kept.truncate(10 * 4);
        now_ns += TRIM_EVERY_NS;
        buffer.trim(now_ns);
        assert_eq!(blocks(), 50);
        // Not too often, and a limited number at a time.
        buffer.trim(now_ns + TRIM_EVERY_NS - 1);
        assert_eq!(blocks(), 50);
        now_ns += TRIM_EVERY_NS;
        buffer.trim(now_ns);
        assert_eq!(blocks(), 50 - TRIM_BLOCKS_MAX);
        now_ns += TRIM_EVERY_NS;
        buffer.trim(now_ns);
        // Two of the ten that are in use are the way's own.
        assert_eq!(blocks(), 8);
        now_ns += TRIM_EVERY_NS;
        buffer.trim(now_ns);
        assert_eq!(blocks(), 8);
        // What is in use is intact.
        assert!(kept.iter().enumerate().all(|(n, part)| part[0] == n as u8));
        drop(kept);
        for _ in 0..2 {
            now_ns += TRIM_EVERY_NS;
            buffer.trim(now_ns);
        }
        assert!(!buffer.is_shared());
    }

    #[test]
    fn parts_are_written_and_read_by_different_threads() {
        let mut buffer = Buffer::new(Arc::new(Pool::of(1)));
        let (pass, arriving) = std::sync::mpsc::sync_channel::<(u32, BlockSlice)>(100);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for (number, part) in arriving {
                    let sent = number.to_ne_bytes();
                    assert!(part[..1000].chunks(4).all(|chunk| chunk == sent));
                }
            });
            let mut kept = 0;
            while kept < 50_000_u32 {
                for chunk in buffer.free_space()[..1000].chunks_mut(4) {
                    chunk.copy_from_slice(&kept.to_ne_bytes());
                }
                if let Some(part) = buffer.keep(1000) {
                    pass.send((kept, part)).unwrap();
                    kept += 1;
                }
            }
            drop(pass);
        });
    }
}
