//! Aligned payload buffers, used again.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use crate::lock::lock;
use crate::nbd::codec::MAX_PAYLOAD;

/// Alignment of every buffer, in bytes: enough for O_DIRECT on every device known.
pub(super) const ALIGN: usize = 4096;
/// Free buffers are kept up to this many bytes in all; more go back to the allocator.
const KEEP_BYTES: usize = 64 * 1024 * 1024;

/// Memory of one size, aligned to [`ALIGN`].
#[derive(Debug)]
struct Block {
    at: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a Block owns its memory alone; nothing in it belongs to a thread.
unsafe impl Send for Block {}
// SAFETY: shared access gives out `&[u8]` only.
unsafe impl Sync for Block {}

impl Block {
    /// `size` is a power of two of at least [`ALIGN`].
    fn new(size: usize) -> Self {
        let Ok(layout) = Layout::from_size_align(size, ALIGN) else {
            unreachable!("a power of two up to MAX_PAYLOAD is a valid layout")
        };
        // SAFETY: the layout's size is not zero.
        let Some(at) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        Self { at, layout }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, freed once.
        unsafe { dealloc(self.at.as_ptr(), self.layout) }
    }
}

/// Where buffers come from and go back to.
#[derive(Debug, Default)]
pub(super) struct Pool {
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    by_class: [Vec<Block>; 14], // 4 KiB << class, up to 32 MiB
    bytes: usize,
}

impl Pool {
    /// A buffer of `len` bytes (at most [`MAX_PAYLOAD`]) with arbitrary old content.
    pub(super) fn take(self: &Arc<Self>, len: u32) -> Buffer {
        let len = len.min(MAX_PAYLOAD) as usize;
        let class = class_of(len);
        let kept = {
            let mut free = lock(&self.free);
            let kept = free.by_class[class].pop();
            if kept.is_some() {
                free.bytes -= ALIGN << class;
            }
            kept
        };
        let block = kept.unwrap_or_else(|| Block::new(ALIGN << class));
        Buffer { block: Some(block), len, pool: Arc::clone(self) }
    }
}

/// Bytes of memory that a buffer of `len` bytes takes.
pub(super) fn footprint(len: u32) -> u64 {
    if len == 0 { 0 } else { (ALIGN << class_of(len as usize)) as u64 }
}

fn class_of(len: usize) -> usize {
    len.max(1).div_ceil(ALIGN).next_power_of_two().trailing_zeros() as usize
}

/// A payload; its memory goes back to the pool when dropped.
#[derive(Debug)]
pub(super) struct Buffer {
    block: Option<Block>,
    len: usize,
    pool: Arc<Pool>,
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.block {
            // SAFETY: the block holds at least `len` initialised bytes (alloc_zeroed) and lives as
            // long as `self`.
            Some(block) => unsafe { std::slice::from_raw_parts(block.at.as_ptr(), self.len) },
            None => &[],
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.block {
            // SAFETY: as in `deref`, and `&mut self` makes the access exclusive.
            Some(block) => unsafe { std::slice::from_raw_parts_mut(block.at.as_ptr(), self.len) },
            None => &mut [],
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(block) = self.block.take() else { return };
        let size = block.layout.size();
        let mut free = lock(&self.pool.free);
        if free.bytes + size <= KEEP_BYTES {
            free.bytes += size;
            free.by_class[class_of(size)].push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_alignment_and_reuse() {
        let pool = Arc::new(Pool::default());
        for len in [0, 1, 4095, 4096, 4097, 1 << 20, MAX_PAYLOAD] {
            let mut buffer = pool.take(len);
            assert_eq!(buffer.len(), len as usize);
            assert_eq!(buffer.as_ptr() as usize % ALIGN, 0);
            buffer.fill(7);
        }
        let before = pool.take(4096).as_ptr();
        assert_eq!(pool.take(100).as_ptr(), before, "same class, used again");
        assert!(lock(&pool.free).bytes <= KEEP_BYTES);
    }
}
