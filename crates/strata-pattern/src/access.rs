//! The sequence of (direction, offset) one thread issues.

use crate::blocks::BlockMap;
use crate::rng::Rng;

/// Order of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other through the thread's own part, then from its beginning again.
    Sequential,
    /// Uniform over all blocks, with replacement: one pass's worth of I/Os touches 63 % of them.
    Random,
}

/// Share of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Each I/O is a read with this chance in percent, independently.
    ReadPercent(u8),
}

/// One thread's endless sequence.
#[derive(Clone, Debug)]
pub struct Access {
    map: BlockMap,
    rng: Rng,
    order: Order,
    /// A draw of 32 bits below this is a read.
    read_below: u64,
    mixed: bool,
    first: u64,
    end: u64,
    next: u64,
}

impl Access {
    /// The sequence of thread `thread` of `threads`. `None` when the thread's part of a sequential range holds
    /// no block.
    #[must_use]
    pub fn new(map: BlockMap, order: Order, mix: Mix, seed: u64, thread: u32, threads: u32) -> Option<Self> {
        let (first, end) = match order {
            Order::Sequential => map.part(u64::from(thread), u64::from(threads)),
            Order::Random => (0, map.blocks()),
        };
        let (read_below, mixed) = match mix {
            Mix::Read => (1 << 32, false),
            Mix::Write => (0, false),
            Mix::ReadPercent(percent) => ((u64::from(percent.min(100)) << 32) / 100, true),
        };
        (first < end).then(|| Self {
            map,
            rng: Rng::new(seed, u64::from(thread)),
            order,
            read_below,
            mixed,
            first,
            end,
            next: first,
        })
    }

    /// Next I/O: whether it is a read, and its byte offset at the target.
    #[inline]
    pub fn draw(&mut self) -> (bool, u64) {
        let index = match self.order {
            Order::Random => self.rng.below(self.end),
            Order::Sequential => {
                let index = self.next;
                self.next = if index + 1 == self.end { self.first } else { index + 1 };
                index
            }
        };
        let roll = if self.mixed { self.rng.bits() >> 32 } else { 0 };
        (roll < self.read_below, self.map.offset(index))
    }

    /// Random bits for the schedule, from the same seed.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.rng.bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Segment;

    fn access(order: Order, mix: Mix, thread: u32, threads: u32) -> Option<Access> {
        let map = BlockMap::new(&[Segment { start: 0, length: 10 * 512, target: 0 }], 512)?;
        Access::new(map, order, mix, 1, thread, threads)
    }

    #[test]
    fn sequential_wraps_inside_its_part() {
        let mut a = access(Order::Sequential, Mix::Read, 1, 3).expect("part of 3 blocks");
        let offsets: Vec<u64> = (0..5).map(|_| a.draw().1 / 512).collect();
        assert_eq!(offsets, [3, 4, 5, 3, 4]);
        assert!(access(Order::Sequential, Mix::Read, 0, 11).is_none());
    }

    #[test]
    fn random_covers_and_replaces() {
        let mut a = access(Order::Random, Mix::Read, 0, 1).expect("blocks");
        let mut seen = [0u32; 10];
        (0..10_000).for_each(|_| seen[(a.draw().1 / 512) as usize] += 1);
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
            let reads = (0..20_000).filter(|_| a.draw().0).count();
            assert!((low..=high).contains(&reads), "{mix:?}: {reads}");
        }
    }
}
