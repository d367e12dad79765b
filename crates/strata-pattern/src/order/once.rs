//! Random coverage: every block once before any comes again.

use super::Pick;
use crate::blocks::BlockMap;
use crate::permutation::Permutation;
use crate::rng::splitmix;

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
