//! Data of a stated compressibility, of which a stated share repeats.

use serde::Deserialize;

use crate::rng::{Rng, splitmix};
use crate::stamp::{STAMP_EVERY, fill_incompressible};

/// The piece that is made anew or repeats as a whole: what file systems and appliances deduplicate.
pub const UNIT: usize = 4096;
/// A repeated unit is one of this many that came last before it.
const RECENT: u64 = 1024;

/// What the written data is like.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct DataReduction {
    /// So much of it a compressor can save, in percent (0 to 99).
    pub compress_percent: u8,
    /// So many of the units of 4 KiB repeat one that the thread wrote before, in percent (0 to 99).
    pub dedupe_percent: u8,
}

/// Makes the data of one thread's writes, all of it for each write.
///
/// Each 512 bytes are random at their beginning and zero behind: whatever piece a device compresses by itself, it
/// finds the same share to save. A unit is a function of its number alone, so that one can be repeated without
/// having been kept. An I/O's last unit may be shorter.
#[derive(Clone, Debug)]
pub struct DataGenerator {
    /// Random bytes of each 512.
    random: usize,
    dedupe: u64,
    seed: u64,
    /// Units made anew so far.
    made: u64,
    chance: Rng,
}

impl DataGenerator {
    /// The data of thread `thread`; no unit of another thread is like it.
    #[must_use]
    pub fn new(like: DataReduction, seed: u64, thread: u32) -> Self {
        let keep = 100 - usize::from(like.compress_percent.min(99));
        Self {
            random: (STAMP_EVERY * keep).div_ceil(100),
            dedupe: u64::from(like.dedupe_percent.min(99)),
            seed: splitmix(seed ^ splitmix(u64::from(thread) + 1)),
            made: 0,
            chance: Rng::new(seed, (8 << 32) + u64::from(thread)),
        }
    }

    /// Fill a buffer.
    pub fn make(&mut self, buffer: &mut [u8]) {
        for unit in buffer.chunks_mut(UNIT) {
            let repeats = self.dedupe > 0 && self.made > 0 && self.chance.below(100) < self.dedupe;
            let number = if repeats {
                self.made - 1 - self.chance.below(self.made.min(RECENT))
            } else {
                self.made += 1;
                self.made - 1
            };
            let mut rng = Rng::new(self.seed, number);
            for piece in unit.chunks_mut(STAMP_EVERY) {
                let (random, rest) = piece.split_at_mut(self.random.min(piece.len()));
                fill_incompressible(random, &mut rng);
                rest.fill(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn made(compress_percent: u8, dedupe_percent: u8, thread: u32, io: usize, ios: usize) -> Vec<u8> {
        let mut generator = DataGenerator::new(DataReduction { compress_percent, dedupe_percent }, 7, thread);
        let mut all = vec![0; io * ios];
        all.chunks_mut(io).for_each(|buffer| generator.make(buffer));
        all
    }

    #[test]
    fn so_many_units_repeat() {
        for (percent, io) in [(0, UNIT), (25, UNIT), (50, 16 * UNIT), (90, 16 * UNIT)] {
            let n = 4000;
            let data = made(30, percent, 0, io, n * UNIT / io);
            let distinct: HashSet<&[u8]> = data.chunks(UNIT).collect();
            let share = 100.0 - 100.0 * distinct.len() as f64 / n as f64;
            // Five standard deviations of a binomial.
            assert!((share - f64::from(percent)).abs() < 4.0, "{percent} asked: {share}");
            assert!(percent > 0 || distinct.len() == n);
        }
    }

    #[test]
    fn so_much_of_each_piece_is_zero() {
        let data = made(75, 0, 0, UNIT, 100);
        assert!(data.chunks(STAMP_EVERY).all(|piece| piece[128..].iter().all(|&b| b == 0)));
        let zeroes = data.chunks(STAMP_EVERY).flat_map(|piece| &piece[..128]).filter(|&&b| b == 0).count();
        assert!(zeroes < 100 * 8 * 128 / 100, "{zeroes}");
        assert!(made(99, 0, 0, UNIT, 1)[..6].iter().any(|&b| b != 0));
    }

    #[test]
    fn threads_and_writes_differ() {
        let (one, other) = (made(0, 0, 0, UNIT, 50), made(0, 0, 1, UNIT, 50));
        let distinct: HashSet<&[u8]> = one.chunks(512).chain(other.chunks(512)).collect();
        assert_eq!(distinct.len(), 2 * 50 * 8);
        assert_eq!(made(0, 50, 0, 1000, 3).len(), 3000);
    }
}
