//! One thread's own sequence.

use super::{Pick, Stride};
use crate::blocks::BlockMap;

/// Goes through the blocks `first..end`, then begins again.
pub(crate) struct Cursor {
    first: u64,
    end: u64,
    next: u64,
    /// Steps from one I/O to the next; `None`: as many as the I/O is long.
    stride: Option<u64>,
}

impl Cursor {
    /// The sequence of thread `thread` of `threads`. `None` when it holds no block.
    pub fn new(map: &BlockMap, stride: Stride, thread: u32, threads: u32) -> Option<Self> {
        let step = map.step_bytes();
        let (first, end) = match stride.thread_offset {
            None => map.part(thread.into(), threads.into()),
            Some(bytes) => ((bytes / step).saturating_mul(thread.into()), map.blocks()),
        };
        let fixed = stride.stride.map(|bytes| (bytes / step).max(1));
        // Blocks of one step need no division by it.
        let fixed = fixed.or((map.block_bytes() <= step).then_some(1));
        (first < end).then_some(Self { first, end, next: first, stride: fixed })
    }
}

impl Pick for Cursor {
    #[inline]
    fn pick(&mut self, map: &BlockMap, len: u32) -> u64 {
        let index = self.next;
        let steps = self.stride.unwrap_or_else(|| u64::from(len).div_ceil(map.step_bytes()));
        let next = map.behind(index, steps);
        self.next = if next < self.end { next } else { self.first };
        index
    }
}
