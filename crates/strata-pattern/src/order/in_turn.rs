//! One block after the other: in a sequence of each thread, in one of all threads together, or in a shuffled order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Pick, Stride};
use crate::blocks::BlockMap;
use crate::permutation::Permutation;
use crate::rng::splitmix;

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

/// Takes the blocks that are next in a sequence that other threads take from as well.
pub(crate) struct Interlocked {
    taken: Arc<AtomicU64>,
    /// Steps taken when the pass began in which this thread last was.
    pass: u64,
}

impl Interlocked {
    /// `taken` counts the steps that all threads have taken.
    pub fn new(taken: Arc<AtomicU64>) -> Self {
        Self { taken, pass: 0 }
    }
}

impl Pick for Interlocked {
    #[inline]
    fn pick(&mut self, map: &BlockMap, len: u32) -> u64 {
        let steps = u64::from(len).div_ceil(map.step_bytes());
        // Only the number matters, nothing is passed on with it.
        let taken = self.taken.fetch_add(steps, Relaxed);
        while taken - self.pass >= map.blocks() {
            self.pass += map.blocks();
        }
        taken - self.pass
    }
}

/// One thread's share of the passes: all threads go through the same shuffled order, each through its own places
/// of it, so that a pass of all of them touches each block once.
pub(crate) struct Once {
    seed: u64,
    pass: u64,
    order: Permutation,
    blocks: u64,
    thread: u64,
    threads: u64,
    next: u64,
}

impl Once {
    /// The share of thread `thread` of `threads`. `None` when there are fewer blocks than threads.
    pub fn new(map: &BlockMap, seed: u64, thread: u32, threads: u32) -> Option<Self> {
        let (blocks, thread, threads) = (map.blocks(), u64::from(thread), u64::from(threads));
        let order = Permutation::new(blocks, seed);
        (thread < blocks).then_some(Self { seed, pass: 0, order, blocks, thread, threads, next: thread })
    }
}

impl Pick for Once {
    #[inline]
    fn pick(&mut self, _map: &BlockMap, _len: u32) -> u64 {
        if self.next >= self.blocks {
            self.pass += 1;
            self.order = Permutation::new(self.blocks, self.seed.wrapping_add(splitmix(self.pass)));
            self.next = self.thread;
        }
        let index = self.order.at(self.next);
        self.next += self.threads;
        index
    }
}
