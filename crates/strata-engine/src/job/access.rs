//! Which I/Os a workload asks for beyond direction, size and depth.

use serde::Deserialize;
use strata_pattern::{Segment, Stride};

use super::Target;

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

/// Order of the blocks: the first three go with sequential `rw`, the others with random.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// One sequence for all threads together.
    Interlocked {},
    /// A sequence with gaps, or one that begins elsewhere in each thread.
    Strided(Stride),
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

/// A piece of the logical space, in bytes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// First byte.
    pub start: u64,
    /// Bytes; to the end without it.
    pub length: Option<u64>,
}
