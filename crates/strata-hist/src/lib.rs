//! Latency histograms in nanoseconds: HDR layout, 3 significant digits, 1 ns to an hour.
//!
//! Pure values: no clock, no I/O. The layout is the one of HdrHistogram (lowest 1, 2048 sub-buckets), so
//! every reader of its V2 format can read ours; only what the load loop needs is here.
#![forbid(unsafe_code)]

mod codec;
mod histogram;
mod layout;

pub use codec::DecodeError;
pub use histogram::{Histogram, Sparse, Summary};
pub use layout::{
    HIGHEST_NS, LEN, SIGNIFICANT_DIGITS, highest_equivalent, index_of, lowest_equivalent, median_equivalent,
};
