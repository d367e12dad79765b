//! What a workload asks for, as a value, and the sequence each of its threads makes of it.

use crate::access::Access;
use crate::blocks::BlockMap;
use crate::io::Io;
use crate::mix::{Directions, Mix};
use crate::rng::Rng;

/// Order of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other through the thread's own part, then from its beginning again.
    Sequential,
    /// Uniform over all blocks, with replacement: one pass's worth of I/Os touches 63 % of them.
    Random,
}

/// Which blocks, in which order and direction.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The blocks.
    pub map: BlockMap,
    /// Their order.
    pub order: Order,
    /// Reads among the I/Os.
    pub mix: Mix,
    /// Seed; threads of one seed draw unrelated sequences.
    pub seed: u64,
}

impl Pattern {
    /// Bytes of the longest I/O.
    #[must_use]
    pub fn longest(&self) -> u32 {
        self.map.block_bytes() as u32
    }

    /// End of the highest block at target number `target`, in bytes.
    #[must_use]
    pub fn end(&self, _target: u16) -> u64 {
        self.map.target_end()
    }

    /// An offset or length at target number `target` that is no multiple of `align` bytes, where there is one.
    #[must_use]
    pub fn misaligned(&self, _target: u16, align: u64) -> Option<u64> {
        let length = self.map.block_bytes();
        self.map.misaligned(align).or_else(|| (!length.is_multiple_of(align)).then_some(length))
    }

    /// The sequence of thread `thread` of `threads`. `None` when the thread's part of a sequential range holds
    /// no block.
    #[must_use]
    pub fn access(&self, thread: u32, threads: u32) -> Option<Access> {
        let (first, end) = match self.order {
            Order::Sequential => self.map.part(u64::from(thread), u64::from(threads)),
            Order::Random => (0, self.map.blocks()),
        };
        if first >= end {
            return None;
        }
        let (map, directions) = (self.map.clone(), Directions::from(self.mix));
        let len = map.block_bytes() as u32;
        let mut rng = Rng::new(self.seed, u64::from(thread));
        Some(match self.order {
            Order::Random => Access::new(move || {
                let offset = map.offset(rng.below(end));
                Io::new(directions.draw(&mut rng), 0, offset, len)
            }),
            Order::Sequential => {
                let mut next = first;
                Access::new(move || {
                    let offset = map.offset(next);
                    next = if next + 1 == end { first } else { next + 1 };
                    Io::new(directions.draw(&mut rng), 0, offset, len)
                })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Segment;
    use crate::io::Op;

    fn access(order: Order, mix: Mix, thread: u32, threads: u32) -> Option<Access> {
        let map = BlockMap::new(&[Segment { start: 0, length: 10 * 512, target: 0 }], 512)?;
        Pattern { map, order, mix, seed: 1 }.access(thread, threads)
    }

    #[test]
    fn sequential_wraps_inside_its_part() {
        let mut a = access(Order::Sequential, Mix::Read, 1, 3).expect("part of 3 blocks");
        let offsets: Vec<u64> = (0..5).map(|_| a.draw().offset() / 512).collect();
        assert_eq!(offsets, [3, 4, 5, 3, 4]);
        assert!(access(Order::Sequential, Mix::Read, 0, 11).is_none());
    }

    #[test]
    fn random_covers_and_replaces() {
        let mut a = access(Order::Random, Mix::Read, 0, 1).expect("blocks");
        let mut seen = [0u32; 10];
        (0..10_000).for_each(|_| seen[(a.draw().offset() / 512) as usize] += 1);
        assert!(seen.iter().all(|n| n.abs_diff(1000) < 150), "{seen:?}");
    }

    #[test]
    fn the_mix_is_kept() {
        for (mix, low, high) in [
            (Mix::Read, 20_000, 20_000),
            (Mix::Write, 0, 0),
            (Mix::ReadPercent(100), 20_000, 20_000),
            (Mix::ReadPercent(0), 0, 0),
            (Mix::ReadPercent(70), 13_675, 14_325),
        ] {
            let mut a = access(Order::Sequential, mix, 0, 1).expect("blocks");
            let reads = (0..20_000).filter(|_| a.draw().op() == Op::Read).count();
            assert!((low..=high).contains(&reads), "{mix:?}: {reads}");
        }
    }
}
