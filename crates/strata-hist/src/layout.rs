//! Which bucket a value falls into: pure arithmetic on the value's bits.
//!
//! Values below 2048 have a bucket each. Above, every doubling is cut into 1024 equal buckets, so a bucket is
//! never wider than 1/1024 of its lowest value, and its middle is at most 0.05 % away from any value inside.

/// Longest time that is told apart, in ns: one hour. Longer ones are clamped to it and counted.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// Decimal digits that survive recording.
pub const SIGNIFICANT_DIGITS: u32 = 3;

/// log2 of the values that have a bucket each.
const SUB_BITS: u32 = 11;
/// Buckets in each doubling above those.
const HALF: u64 = 1 << (SUB_BITS - 1);

/// Number of buckets: one past the bucket of [`HIGHEST_NS`].
pub const LEN: usize = index_of(HIGHEST_NS) + 1;

/// Bucket of a value in ns. Meaningful up to [`HIGHEST_NS`].
#[must_use]
#[inline]
pub const fn index_of(value_ns: u64) -> usize {
    let doubling = shift_of(value_ns);
    // Doubling 0 uses all 2048 sub-buckets, the others only their upper half.
    ((doubling as u64 * HALF) + (value_ns >> doubling)) as usize
}

#[inline]
const fn shift_of(value_ns: u64) -> u32 {
    64 - SUB_BITS - (value_ns | ((1 << SUB_BITS) - 1)).leading_zeros()
}

/// Lowest value in ns that falls into bucket `index`.
#[must_use]
pub const fn lowest_equivalent(index: usize) -> u64 {
    let index = index as u64;
    if index < 2 * HALF {
        return index;
    }
    let doubling = index / HALF - 1;
    (index - doubling * HALF) << doubling
}

/// Highest value in ns that falls into bucket `index`.
#[must_use]
pub const fn highest_equivalent(index: usize) -> u64 {
    lowest_equivalent(index) + (width(index) - 1)
}

/// Middle of bucket `index` in ns, rounded up as HdrHistogram does.
#[must_use]
pub const fn median_equivalent(index: usize) -> u64 {
    lowest_equivalent(index) + (width(index) >> 1)
}

const fn width(index: usize) -> u64 {
    let index = index as u64;
    if index < 2 * HALF { 1 } else { 1 << (index / HALF - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_the_layout() {
        for (value, index) in
            [(0, 0), (1, 1), (2047, 2047), (2048, 2048), (2049, 2048), (2050, 2049), (4095, 3071)]
        {
            assert_eq!(index_of(value), index, "value {value}");
        }
        assert_eq!(index_of(4096), 3072);
        assert_eq!(LEN, index_of(HIGHEST_NS) + 1);
    }

    #[test]
    fn buckets_tile_the_range_without_gap() {
        for index in 0..LEN {
            assert_eq!(index_of(lowest_equivalent(index)), index);
            assert_eq!(index_of(highest_equivalent(index)), index);
            assert_eq!(highest_equivalent(index) + 1, lowest_equivalent(index + 1));
        }
    }

    #[test]
    fn error_is_at_most_a_thousandth() {
        for index in 1..LEN {
            let (low, high) = (lowest_equivalent(index), highest_equivalent(index));
            assert!((high - low) as f64 <= 0.001 * low as f64, "bucket {index}: {low}..={high}");
        }
    }
}
