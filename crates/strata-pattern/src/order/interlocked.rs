//! One sequence for all threads together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Pick;
use crate::blocks::BlockMap;

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
