//! Counts per bucket, with the exact sum, smallest and largest value beside them.

use crate::layout::{HIGHEST_NS, LEN, highest_equivalent, index_of, median_equivalent};
use crate::sparse::Sparse;

/// A histogram of times in ns. About 270 kB; only the cache lines that are hit cost anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64]>,
    count: u64,
    clamped: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// Moments of a histogram, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Values recorded.
    pub count: u64,
    /// Smallest value (0 when empty).
    pub min_ns: u64,
    /// Largest value (0 when empty).
    pub max_ns: u64,
    /// Mean, from the middle of each bucket (0 when empty).
    pub mean_ns: f64,
    /// Population standard deviation, from the middle of each bucket (0 when empty).
    pub stddev_ns: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Self {
            counts: vec![0; LEN].into_boxed_slice(),
            count: 0,
            clamped: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    /// Count one value in ns. Values beyond [`HIGHEST_NS`] land in the last bucket and in [`Self::clamped`].
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_many(value_ns, 1);
    }

    /// Count one value `n` times.
    #[inline]
    pub fn record_many(&mut self, value_ns: u64, n: u64) {
        if n == 0 {
            return;
        }
        if value_ns > HIGHEST_NS {
            return self.clamp(value_ns, n);
        }
        self.hold(value_ns, n);
        self.sum_ns += u128::from(value_ns) * u128::from(n);
    }

    #[cold]
    fn clamp(&mut self, value_ns: u64, n: u64) {
        self.clamped += n;
        self.hold(HIGHEST_NS, n);
        self.sum_ns += u128::from(value_ns) * u128::from(n);
    }

    #[inline]
    fn hold(&mut self, held_ns: u64, n: u64) {
        self.counts[index_of(held_ns)] += n;
        self.count += n;
        if held_ns < self.min_ns {
            self.min_ns = held_ns;
        }
        if held_ns > self.max_ns {
            self.max_ns = held_ns;
        }
    }

    /// Add everything another histogram holds. Exact: bucket by bucket.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        for index in index_of(other.min_ns)..=index_of(other.max_ns) {
            self.counts[index] += other.counts[index];
        }
        self.count += other.count;
        self.absorb(other.clamped, other.sum_ns, other.min_ns, other.max_ns);
    }

    /// Add what [`Self::drain`] of another histogram gave. Exact.
    pub fn merge_sparse(&mut self, part: &Sparse) {
        let Some((min_ns, max_ns)) = part.range_ns else { return };
        for &(index, count) in &part.buckets {
            self.counts[index as usize] += count;
            self.count += count;
        }
        self.absorb(part.clamped, part.sum_ns, min_ns, max_ns);
    }

    fn absorb(&mut self, clamped: u64, sum_ns: u128, min_ns: u64, max_ns: u64) {
        self.clamped += clamped;
        self.sum_ns += sum_ns;
        self.min_ns = self.min_ns.min(min_ns);
        self.max_ns = self.max_ns.max(max_ns);
    }

    /// Take everything out and leave the histogram empty. Looks only at the buckets between the smallest and
    /// the largest value, so draining an interval costs microseconds.
    pub fn drain(&mut self) -> Sparse {
        if self.count == 0 {
            return Sparse::default();
        }
        let first = index_of(self.min_ns);
        let span = &mut self.counts[first..=index_of(self.max_ns)];
        let mut buckets = Vec::with_capacity(span.len().min(self.count as usize));
        for (step, count) in span.iter_mut().enumerate() {
            if *count > 0 {
                buckets.push(((first + step) as u32, *count));
                *count = 0;
            }
        }
        let part = Sparse {
            buckets,
            clamped: self.clamped,
            sum_ns: self.sum_ns,
            range_ns: Some((self.min_ns, self.max_ns)),
        };
        (self.count, self.clamped, self.sum_ns, self.min_ns, self.max_ns) = (0, 0, 0, u64::MAX, 0);
        part
    }

    /// Rebuild from bucket counts alone: the smallest and largest values become bucket edges and the sum is
    /// estimated from bucket middles. `None` when a bucket is beyond the layout or the count overflows.
    pub(crate) fn from_buckets(buckets: &[(usize, u64)]) -> Option<Self> {
        let mut whole = Self::new();
        for &(index, count) in buckets {
            let cell = whole.counts.get_mut(index)?;
            *cell = cell.checked_add(count)?;
            whole.count = whole.count.checked_add(count)?;
            whole.sum_ns += u128::from(median_equivalent(index)) * u128::from(count);
            whole.min_ns = whole.min_ns.min(crate::lowest_equivalent(index));
            whole.max_ns = whole.max_ns.max(highest_equivalent(index).min(HIGHEST_NS));
        }
        Some(whole)
    }

    /// Values recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Values beyond the range. Not part of the encoded form.
    #[must_use]
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Sum of the recorded values in ns: exact, except after decoding, where it is estimated.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Largest value in ns; `None` when empty.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// Non-empty buckets: (index, count), rising.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|&(_, count)| count > 0)
    }

    /// The value in ns below or at which a share `quantile` (0..=1) of all values lies: the upper end of its
    /// bucket, at most the largest value recorded. `None` when empty.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let rank = ((quantile.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (index, count) in self.buckets() {
            seen += count;
            if seen >= rank {
                return Some(highest_equivalent(index).min(self.max_ns));
            }
        }
        None
    }

    /// Count, extremes, mean and deviation.
    #[must_use]
    pub fn summary(&self) -> Summary {
        if self.count == 0 {
            return Summary { count: 0, min_ns: 0, max_ns: 0, mean_ns: 0.0, stddev_ns: 0.0 };
        }
        let n = self.count as f64;
        let weighted = |f: &dyn Fn(f64) -> f64| -> f64 {
            self.buckets().map(|(i, count)| f(median_equivalent(i) as f64) * count as f64).sum::<f64>() / n
        };
        let mean_ns = weighted(&|middle| middle);
        // Two passes: no cancellation when the spread is small against the mean.
        let variance = weighted(&|middle| (middle - mean_ns).powi(2));
        Summary {
            count: self.count,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            mean_ns,
            stddev_ns: variance.sqrt(),
        }
    }
}
