//! Counts per bucket, with the exact sum, smallest and largest value beside them.

use crate::layout::{HIGHEST_NS, LEN, highest_equivalent, index_of, median_equivalent};

/// A histogram of times in ns. About 270 kB; only the cache lines that are hit cost anything.
///
/// How many values it holds is not kept but summed when asked: that is one addition less in each record.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64; LEN]>,
    clamped: u64,
    /// What the word below does not hold.
    sum_ns: u128,
    /// One word, which each record loads, checks and stores. A sum of two words, or one that is added to in memory, has each
    /// record wait for the one before, which takes as long as all the rest.
    recorded_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

/// What an interval recorded, in a form that is cheap to hand to another thread: non-empty buckets and exact sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sparse {
    /// (bucket, count), in rising order of bucket, counts above zero.
    pub buckets: Vec<(u32, u64)>,
    /// Values that were beyond the range and recorded as its highest.
    pub clamped: u64,
    /// Exact sum of the values in ns, before clamping.
    pub sum_ns: u128,
    /// Smallest and largest value recorded, in ns; `None` when nothing was.
    pub range_ns: Option<(u64, u64)>,
}

impl Sparse {
    /// Values recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|&(_, count)| count).sum()
    }
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

/// Equal are those that hold equal values, however they came to be summed.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        let figures = |h: &Self| (h.clamped, h.sum_ns(), h.min_ns, h.max_ns);
        figures(self) == figures(other) && self.counts == other.counts
    }
}

impl Eq for Histogram {}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let counts: Result<Box<[u64; LEN]>, _> = vec![0; LEN].into_boxed_slice().try_into();
        Self {
            counts: counts.unwrap_or_else(|_| Box::new([0; LEN])),
            clamped: 0,
            sum_ns: 0,
            recorded_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    /// Count one value in ns. Values beyond [`HIGHEST_NS`] land in the last bucket and in [`Self::clamped`].
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        // The highest value is in the last bucket, so one comparison keeps the others both in range and unclamped.
        let index = index_of(value_ns);
        if index >= LEN - 1 {
            return self.record_high(value_ns, 1);
        }
        self.counts[index] += 1;
        match self.recorded_ns.checked_add(value_ns) {
            Some(sum_ns) => self.recorded_ns = sum_ns,
            None => self.sum_up(value_ns, 1),
        }
        self.widen(value_ns);
    }

    /// Count each of `values_ns`: as [`Self::record`] one by one. Where all lie between the smallest and the largest value so
    /// far, as they mostly do, nothing but their buckets is looked for one by one.
    #[inline(never)]
    pub fn record_all(&mut self, values_ns: &[u64]) {
        // All below it fall into the buckets up to the mask, which changes nothing: it tells the compiler that they exist.
        const SMALL_NS: u64 = 1 << 32;
        const MASK: usize = (1 << 15) - 1;
        const { assert!(index_of(SMALL_NS) <= MASK && MASK < LEN) };
        let (mut min_ns, mut max_ns) = (self.min_ns, self.max_ns);
        let (mut below, mut above, mut sum_ns) = (0, 0, 0u64);
        for &value_ns in values_ns {
            // The highest bit is that of a difference below 0, or of a value far beyond.
            below |= value_ns.wrapping_sub(min_ns);
            above |= max_ns.wrapping_sub(value_ns);
            sum_ns = sum_ns.wrapping_add(value_ns);
        }
        let first = self.is_empty();
        if below >> 63 != 0 || first {
            min_ns = values_ns.iter().fold(min_ns, |min_ns, &value_ns| min_ns.min(value_ns));
        }
        if above >> 63 != 0 || first {
            max_ns = values_ns.iter().fold(max_ns, |max_ns, &value_ns| max_ns.max(value_ns));
        }
        // Else the sum of so few fits into a word.
        if max_ns >= SMALL_NS || values_ns.len() > 1 << 31 {
            return values_ns.iter().for_each(|&value_ns| self.record(value_ns));
        }
        let mut count = |value_ns| self.counts[index_of(value_ns) & MASK] += 1;
        let (groups, rest) = values_ns.as_chunks::<8>();
        groups.iter().for_each(|group| group.iter().for_each(|&value_ns| count(value_ns)));
        rest.iter().for_each(|&value_ns| count(value_ns));
        self.sum_ns += u128::from(sum_ns);
        (self.min_ns, self.max_ns) = (min_ns, max_ns);
    }

    /// Count one value `n` times.
    #[inline]
    pub fn record_many(&mut self, value_ns: u64, n: u64) {
        if n == 0 {
            return;
        }
        let index = index_of(value_ns);
        if index >= LEN - 1 {
            return self.record_high(value_ns, n);
        }
        self.counts[index] += n;
        self.sum_ns += u128::from(value_ns) * u128::from(n);
        self.widen(value_ns);
    }

    #[cold]
    fn sum_up(&mut self, value_ns: u64, n: u64) {
        self.sum_ns += u128::from(value_ns) * u128::from(n);
    }

    #[cold]
    fn record_high(&mut self, value_ns: u64, n: u64) {
        if value_ns > HIGHEST_NS {
            self.clamped += n;
        }
        self.counts[LEN - 1] += n;
        self.sum_up(value_ns, n);
        self.widen(value_ns.min(HIGHEST_NS));
    }

    #[inline]
    fn widen(&mut self, held_ns: u64) {
        if held_ns < self.min_ns {
            self.min_ns = held_ns;
        }
        if held_ns > self.max_ns {
            self.max_ns = held_ns;
        }
    }

    /// Add everything another histogram holds. Exact: bucket by bucket.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        for index in index_of(other.min_ns)..=index_of(other.max_ns) {
            self.counts[index] += other.counts[index];
        }
        self.absorb(other.clamped, other.sum_ns(), other.min_ns, other.max_ns);
    }

    /// Add what [`Self::drain`] of another histogram gave. Exact.
    pub fn merge_sparse(&mut self, part: &Sparse) {
        let Some((min_ns, max_ns)) = part.range_ns else { return };
        for &(index, count) in &part.buckets {
            self.counts[index as usize] += count;
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
        if self.is_empty() {
            return Sparse::default();
        }
        let first = index_of(self.min_ns);
        let span = &mut self.counts[first..=index_of(self.max_ns)];
        let mut buckets = Vec::with_capacity(span.len().min(256));
        for (step, count) in span.iter_mut().enumerate() {
            if *count > 0 {
                buckets.push(((first + step) as u32, *count));
                *count = 0;
            }
        }
        let part = Sparse {
            buckets,
            clamped: self.clamped,
            sum_ns: self.sum_ns(),
            range_ns: Some((self.min_ns, self.max_ns)),
        };
        (self.clamped, self.sum_ns, self.min_ns, self.max_ns) = (0, 0, u64::MAX, 0);
        self.recorded_ns = 0;
        part
    }

    /// Rebuild from bucket counts alone: the smallest and largest values become bucket edges and the sum is
    /// estimated from bucket middles. `None` when a bucket is beyond the layout or the count overflows.
    pub(crate) fn from_buckets(buckets: &[(usize, u64)]) -> Option<Self> {
        let (mut whole, mut total) = (Self::new(), 0u64);
        for &(index, count) in buckets {
            let cell = whole.counts.get_mut(index)?;
            *cell = cell.checked_add(count)?;
            total = total.checked_add(count)?;
            whole.sum_ns += u128::from(median_equivalent(index)) * u128::from(count);
            whole.min_ns = whole.min_ns.min(crate::lowest_equivalent(index));
            whole.max_ns = whole.max_ns.max(highest_equivalent(index).min(HIGHEST_NS));
        }
        Some(whole)
    }

    /// Values recorded. Sums the buckets between the smallest and the largest value.
    #[must_use]
    pub fn count(&self) -> u64 {
        if self.is_empty() {
            0
        } else {
            self.counts[index_of(self.min_ns)..=index_of(self.max_ns)].iter().sum()
        }
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.min_ns > self.max_ns
    }

    /// Values beyond the range. Not part of the encoded form.
    #[must_use]
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Sum of the recorded values in ns: exact, except after decoding, where it is estimated.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns + u128::from(self.recorded_ns)
    }

    /// Largest value in ns; `None` when empty.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// Non-empty buckets: (index, count), rising.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|&(_, count)| count > 0)
    }

    /// The value in ns below or at which a share `quantile` (0..=1) of all values lies: the upper end of its
    /// bucket, at most the largest value recorded. `None` when empty.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let all = self.count();
        let rank = ((quantile.clamp(0.0, 1.0) * all as f64).ceil() as u64).clamp(1, all.max(1));
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
        let count = self.count();
        if count == 0 {
            return Summary { count: 0, min_ns: 0, max_ns: 0, mean_ns: 0.0, stddev_ns: 0.0 };
        }
        let n = count as f64;
        let weighted = |f: &dyn Fn(f64) -> f64| -> f64 {
            self.buckets().map(|(i, count)| f(median_equivalent(i) as f64) * count as f64).sum::<f64>() / n
        };
        let mean_ns = weighted(&|middle| middle);
        // Two passes: no cancellation when the spread is small against the mean.
        let variance = weighted(&|middle| (middle - mean_ns).powi(2));
        Summary { count, min_ns: self.min_ns, max_ns: self.max_ns, mean_ns, stddev_ns: variance.sqrt() }
    }
}
