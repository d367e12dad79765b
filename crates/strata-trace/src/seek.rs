//! How far it is from the end of one I/O to the beginning of the next.

use serde::Serialize;

use crate::SECTOR;

const BUCKETS: usize = 56;

/// Counts of distances, by powers of two, forward and backward apart.
#[derive(Clone, Debug)]
pub struct Seeks {
    none: u64,
    forward: [u64; BUCKETS],
    backward: [u64; BUCKETS],
}

/// One bucket: distances of at least `from` and less than `to` bytes; negative is backward.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// The bound nearer to zero.
    pub from_bytes: i64,
    /// The bound farther from zero.
    pub to_bytes: i64,
    /// I/Os.
    pub count: u64,
}

impl Default for Seeks {
    fn default() -> Self {
        Self { none: 0, forward: [0; BUCKETS], backward: [0; BUCKETS] }
    }
}

impl Seeks {
    /// Count the way from one sector to another.
    pub fn record(&mut self, from: u64, to: u64) {
        let distance = from.abs_diff(to);
        if distance == 0 {
            self.none += 1;
            return;
        }
        let bucket = (distance.ilog2() as usize).min(BUCKETS - 1);
        if to > from { self.forward[bucket] += 1 } else { self.backward[bucket] += 1 }
    }

    /// What was met, from far backward over none to far forward.
    #[must_use]
    pub fn buckets(&self) -> Vec<Bucket> {
        let bound =
            |power: usize| (SECTOR as i64).checked_shl(power as u32).filter(|n| *n > 0).unwrap_or(i64::MAX);
        let side = |counts: &[u64; BUCKETS], sign: i64| -> Vec<Bucket> {
            let met = counts.iter().enumerate().filter(|(_, n)| **n > 0);
            met.map(|(power, &count)| Bucket {
                from_bytes: sign * bound(power),
                to_bytes: sign * bound(power + 1),
                count,
            })
            .collect()
        };
        let mut all = side(&self.backward, -1);
        all.reverse();
        if self.none > 0 {
            all.push(Bucket { from_bytes: 0, to_bytes: 0, count: self.none });
        }
        all.extend(side(&self.forward, 1));
        all
    }
}
