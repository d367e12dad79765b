//! What an interval recorded, in a form that is cheap to hand to another thread.

/// The non-empty buckets of a histogram and its exact sums.
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
