//! Mapped memory in blocks of one size, each divided into slices with owners of their own.

#![expect(
    unsafe_code,
    reason = "parts of one block are written and read by different threads at a time"
)]

use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

pub(in crate::link) const BLOCK_BYTES: usize = 1 << 18;

/// Zeroed memory of its own. The kernel provides a page when it is first used.
#[derive(Debug)]
pub(in crate::link) struct Block(NonNull<u8>);

// SAFETY: a block owns its memory, as a box does, and nothing of it belongs to a thread.
unsafe impl Send for Block {}
// SAFETY: a shared block gives no access to its memory.
unsafe impl Sync for Block {}

impl Block {
    /// `None` if the kernel refuses more memory.
    pub(in crate::link) fn new() -> Option<Self> {
        let (access, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: a new mapping at a place that the kernel chooses changes no memory that is in use.
        let start = unsafe { libc::mmap(ptr::null_mut(), BLOCK_BYTES, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        NonNull::new(start.cast()).map(Self)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no slice of it is left: a slice keeps its block.
        unsafe { libc::munmap(self.0.as_ptr().cast(), BLOCK_BYTES) };
    }
}

/// Receives a block when the last of its slices is dropped.
pub(in crate::link) trait BlockOwner: Send + Sync {
    /// Takes the block back.
    fn release(&self, block: Block);
}

/// Exclusive ownership of some bytes of a block.
pub(in crate::link) struct BlockSlice {
    start: NonNull<u8>,
    bytes: usize,
    shared: Arc<SharedBlock>,
}

// SAFETY: no two slices have a byte in common, and the block that they share is `Send` and `Sync`.
unsafe impl Send for BlockSlice {}

/// A block that has slices.
struct SharedBlock {
    /// `None` once it is released.
    block: Option<Block>,
    owner: Arc<dyn BlockOwner>,
}

impl Drop for SharedBlock {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.owner.release(block);
        }
    }
}

impl BlockSlice {
    /// All of a block, as one slice.
    pub(in crate::link) fn whole(block: Block, owner: Arc<dyn BlockOwner>) -> Self {
        Self {
            start: block.0,
            bytes: BLOCK_BYTES,
            shared: Arc::new(SharedBlock {
                block: Some(block),
                owner,
            }),
        }
    }

    /// Splits off the first `bytes`, or all if there are fewer.
    pub(in crate::link) fn cut(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        let first = Self {
            start: self.start,
            bytes,
            shared: Arc::clone(&self.shared),
        };
        // SAFETY: the slice has at least `bytes` bytes, so this is its end at most.
        self.start = unsafe { self.start.add(bytes) };
        self.bytes -= bytes;
        first
    }
}

impl Deref for BlockSlice {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the block is mapped as long as `shared` exists, it was zeroed, and these bytes are this slice's alone.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for BlockSlice {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the slice is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}
