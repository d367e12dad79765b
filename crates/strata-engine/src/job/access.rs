//! Which I/Os a workload asks for beyond direction, size and depth.

use serde::Deserialize;

use super::{Segment, Target};

/// One of several targets of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedTarget {
    /// What is loaded.
    pub target: Target,
    /// Its share of the I/Os is its weight over the sum of all weights.
    #[serde(default = "super::one")]
    pub weight: u32,
    /// Its blocks: logical ranges and where they lie at it.
    pub segments: Vec<Segment>,
}

/// How the I/Os are distributed over several targets.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Every thread to every target, as often as its weight says.
    #[default]
    Share,
    /// Thread n to target n modulo their number: each target has queues of its own.
    Thread,
}

/// Order of the blocks: the first three go with sequential `rw`, the others with random.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// One sequence for all threads together.
    Interlocked {},
    /// A sequence with gaps, or one that begins elsewhere in each thread.
    Strided {
        /// Bytes from the beginning of one I/O to that of the next; without it they follow each other.
        stride: Option<u64>,
        /// Bytes from the beginning of one thread's sequence to that of the next thread's; without it each thread
        /// has a part of its own.
        thread_offset: Option<u64>,
    },
    /// A part of the blocks for each thread, one after the other.
    Parts {},
    /// Every block equally likely each time.
    Uniform {},
    /// Every block once before any comes again.
    Once {},
    /// Block of rank k with chance proportional to k^−θ.
    Zipf {
        /// The θ.
        theta: f64,
    },
    /// Stated shares of the I/Os for stated pieces of the range, in its order.
    Zones {
        /// The pieces; what they leave of the range gets what they leave of the I/Os.
        zones: Vec<Zone>,
    },
}

/// A piece of the range and its share of the I/Os. One of the two lengths.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Percent of the I/Os.
    pub access_percent: f64,
    /// Percent of the blocks.
    pub range_percent: Option<f64>,
    /// Bytes.
    pub range_bytes: Option<u64>,
}

/// Several sizes with their shares. A direction that the workload has not may be empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BsSplit {
    /// Of reads.
    pub read: Vec<BsShare>,
    /// Of writes.
    pub write: Vec<BsShare>,
}

/// One of several sizes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BsShare {
    /// Bytes.
    pub bs: u32,
    /// Its share is its weight over the sum of all weights.
    pub weight: u32,
}

/// A piece of the logical space, in bytes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// First byte.
    pub start: u64,
    /// Bytes; to the end without it.
    pub length: Option<u64>,
}

/// What written data is like.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Data {
    /// So much of it a compressor can save, 0 to 99.
    pub compress_percent: u8,
    /// So many of its units of 4 KiB repeat an earlier one, 0 to 99.
    pub dedupe_percent: u8,
}
