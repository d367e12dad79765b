//! Against the `hdrhistogram` crate (another hand's implementation of the same format), and against itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use proptest::prelude::*;
use strata_hist::{DecodeError, HIGHEST_NS, Histogram};

fn ours(values: &[u64]) -> Histogram {
    let mut h = Histogram::new();
    values.iter().for_each(|&v| h.record(v));
    h
}

fn theirs(values: &[u64]) -> hdrhistogram::Histogram<u64> {
    let mut h = hdrhistogram::Histogram::new_with_bounds(1, HIGHEST_NS, 3).unwrap();
    values.iter().for_each(|&v| h.record(v).unwrap());
    h
}

/// Times spread over all magnitudes, not only the large ones a uniform draw would give.
fn times() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(
        (0u32..42, any::<u64>()).prop_map(|(bits, raw)| (raw >> (63 - bits)).clamp(1, HIGHEST_NS)),
        0..300,
    )
}

proptest! {
    #[test]
    fn many_at_once_are_many_one_by_one(
        pairs in prop::collection::vec((any::<u64>().prop_map(|v| v >> (v % 64)), 0u64..5), 0..50),
    ) {
        let (mut at_once, mut singly) = (Histogram::new(), Histogram::new());
        for (value, times) in pairs {
            at_once.record_many(value, times);
            (0..times).for_each(|_| singly.record(value));
        }
        prop_assert_eq!(at_once, singly);
    }

    #[test]
    fn batches_are_their_values_one_by_one(
        batches in prop::collection::vec(
            prop::collection::vec(any::<u64>().prop_map(|v| if v % 3 > 0 { v >> 32 | 1 << 20 } else { v >> (v % 64) }), 0..70),
            0..8,
        ),
    ) {
        let mut together = Histogram::new();
        batches.iter().for_each(|values| together.record_all(values));
        prop_assert_eq!(together, ours(&batches.concat()));
    }

    #[test]
    fn parts_merge_to_the_whole(values in times(), cuts in prop::collection::vec(0usize..300, 0..4)) {
        let whole = ours(&values);
        let (mut dense, mut sparse) = (Histogram::new(), Histogram::new());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(values.len())).collect();
        cuts.extend([0, values.len()]);
        cuts.sort_unstable();
        for pair in cuts.windows(2) {
            let mut part = ours(&values[pair[0]..pair[1]]);
            dense.merge(&part);
            sparse.merge_sparse(&part.drain());
            prop_assert_eq!(&part, &Histogram::new());
        }
        prop_assert_eq!(&dense, &whole);
        prop_assert_eq!(&sparse, &whole);
        prop_assert_eq!(whole.sum_ns(), values.iter().map(|&v| u128::from(v)).sum::<u128>());
    }

    #[test]
    fn the_crate_reads_ours(values in times()) {
        let bytes = ours(&values).encode();
        let read: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        prop_assert_eq!(read, theirs(&values));
    }

    #[test]
    fn we_read_the_crate(values in times()) {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&theirs(&values), &mut bytes).unwrap();
        let read = Histogram::decode(&bytes).unwrap();
        prop_assert!(read.buckets().eq(ours(&values).buckets()));
        prop_assert_eq!(read.encode(), ours(&values).encode());
    }

    #[test]
    fn quantiles_and_moments_agree(values in times(), q in 0.0f64..=1.0) {
        prop_assume!(!values.is_empty());
        let (a, b) = (ours(&values), theirs(&values));
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let exact = sorted[((q * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1];
        let got = a.quantile_ns(q).unwrap();
        prop_assert!(got >= exact && (got - exact) as f64 <= 0.001 * exact as f64, "q {} got {} exact {}", q, got, exact);
        let summary = a.summary();
        prop_assert!((summary.mean_ns - b.mean()).abs() <= 1e-9 * b.mean());
        prop_assert!((summary.stddev_ns - b.stdev()).abs() <= 1e-6 * b.mean());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), keep in 0usize..80) {
        let _ = Histogram::decode(&bytes);
        let mut near = ours(&[1, 5_000, 7_000_000]).encode();
        near.truncate(40);
        near.extend(&bytes[..keep.min(bytes.len())]);
        let length = (near.len() - 40) as u32;
        near[4..8].copy_from_slice(&length.to_be_bytes());
        let _ = Histogram::decode(&near);
    }
}

#[test]
fn beyond_an_hour_is_clamped_and_counted() {
    let mut h = ours(&[HIGHEST_NS, HIGHEST_NS + 1, u64::MAX]);
    assert_eq!((h.count(), h.clamped(), h.max_ns()), (3, 2, Some(HIGHEST_NS)));
    assert_eq!(h.sum_ns(), 2 * u128::from(HIGHEST_NS) + 1 + u128::from(u64::MAX));
    assert_eq!(h.drain().clamped, 2);
    assert_eq!(h.quantile_ns(0.5), None);
}

#[test]
fn foreign_layouts_are_named() {
    let mut bytes = Vec::new();
    let two_digits = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 2).unwrap();
    V2Serializer::new().serialize(&two_digits, &mut bytes).unwrap();
    assert_eq!(Histogram::decode(&bytes), Err(DecodeError::Layout { lowest: 1, digits: 2, offset: 0 }));
    assert_eq!(Histogram::decode(&bytes[..20]), Err(DecodeError::Truncated));
}

#[test]
fn a_sum_beyond_64_bits_is_exact() {
    let hour_ns = strata_hist::HIGHEST_NS - 10_000_000_000;
    let mut histogram = Histogram::new();
    let n = u64::MAX / hour_ns + 2;
    (0..n).for_each(|_| histogram.record(hour_ns));
    assert_eq!(histogram.sum_ns(), u128::from(hour_ns) * u128::from(n));
    assert_eq!((histogram.count(), histogram.clamped()), (n, 0));
}
