//! How long the I/Os are.

use serde::Deserialize;

use crate::io::{Io, Op};
use crate::rng::Rng;
use crate::source::Stage;
use crate::weighted::Weighted;

/// One of several lengths.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Bytes.
    #[serde(rename = "bs")]
    pub bytes: u32,
    /// Its share is its weight over the sum of all weights.
    pub weight: u32,
}

/// Lengths of reads and of writes. A direction that the workload has needs at least one of positive weight.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Sizes {
    /// Of reads.
    pub read: Vec<Size>,
    /// Of writes.
    pub write: Vec<Size>,
}

impl Sizes {
    /// All I/Os are this long.
    #[must_use]
    pub fn one(bytes: u32) -> Self {
        let only = vec![Size { bytes, weight: 1 }];
        Self { read: only.clone(), write: only }
    }

    /// Every length there is, in bytes.
    pub fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.read.iter().chain(&self.write).filter(|size| size.weight > 0).map(|size| size.bytes)
    }

    /// The length that all I/Os have, where they have one.
    pub(crate) fn only(&self) -> Option<u32> {
        let first = self.all().next()?;
        self.all().all(|bytes| bytes == first).then_some(first)
    }

    /// Bytes of an I/O on average, where a share of `reads` (0 to 1) are reads.
    #[must_use]
    pub fn mean(&self, reads: f64) -> f64 {
        let mean = |sizes: &[Size]| {
            let (bytes, weights) = sizes.iter().fold((0.0, 0.0), |(bytes, weights), size| {
                let weight = f64::from(size.weight);
                (bytes + weight * f64::from(size.bytes), weights + weight)
            });
            if weights > 0.0 { bytes / weights } else { 0.0 }
        };
        reads * mean(&self.read) + (1.0 - reads) * mean(&self.write)
    }
}

/// Sets the length, after the direction.
pub(crate) struct Lengths {
    /// Of reads, then of writes.
    of: [Option<(Weighted, Box<[u32]>)>; 2],
    rng: Rng,
}

impl Lengths {
    pub fn new(sizes: &Sizes, rng: Rng) -> Self {
        let of = [&sizes.read, &sizes.write].map(|sizes| {
            let choice = Weighted::new(sizes.iter().map(|size| u64::from(size.weight)))?;
            Some((choice, sizes.iter().map(|size| size.bytes).collect()))
        });
        Self { of, rng }
    }
}

impl Stage for Lengths {
    fn apply(&mut self, ios: &mut [Io]) {
        for io in ios {
            if let Some((choice, bytes)) = &self.of[usize::from(io.op() == Op::Write)] {
                io.set_len(bytes[choice.draw(&mut self.rng)]);
            }
        }
    }
}
