//! The order in which I/Os come, as figures. Pure: (first sector, end) one after the other.

use std::collections::VecDeque;

use serde::Serialize;

use crate::SECTOR;
use crate::streams::Streams;

/// I/Os that the windowed share looks back.
pub const WINDOW: usize = 16;

const BUCKETS: usize = 56;

/// Follows one direction at one device.
#[derive(Clone, Debug, Default)]
pub struct Order {
    ios: u64,
    strict: u64,
    windowed: u64,
    backward: u64,
    last: Option<(u64, u64)>,
    ends: VecDeque<u64>,
    seeks: Seeks,
    streams: Streams,
}

/// The figures. Shares are of the I/Os that have one before them (`ios` − 1); absent where there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OrderFigures {
    /// I/Os that were followed.
    pub ios: u64,
    /// Begin exactly where the one before ended.
    pub strict_share: Option<f64>,
    /// Begin exactly where one of the last [`WINDOW`] ended.
    pub windowed_share: Option<f64>,
    /// Begin before the one before began.
    pub backward_share: Option<f64>,
    /// Came late in their stream, of all `ios`.
    pub reordered_share: Option<f64>,
    /// And how many those are.
    pub reordered: u64,
    /// By how many I/Os they were late: (extent, how many).
    pub extents: Vec<(u64, u64)>,
    /// Sequential streams that were met.
    pub streams: u64,
    /// Distances from one's end to the next one's beginning.
    pub seeks: Vec<Bucket>,
}

impl Order {
    /// The next I/O: sectors `start..end`. Those without data are no part of an order.
    pub fn feed(&mut self, start: u64, end: u64) {
        if end <= start {
            return;
        }
        self.ios += 1;
        if let Some((began, ended)) = self.last {
            self.strict += u64::from(start == ended);
            self.backward += u64::from(start < began);
            self.windowed += u64::from(self.ends.contains(&start));
            self.seeks.record(ended, start);
        }
        self.last = Some((start, end));
        if self.ends.len() == WINDOW {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
        self.streams.feed(start, end);
    }

    /// What was seen so far.
    #[must_use]
    pub fn figures(&self) -> OrderFigures {
        let pairs = self.ios.saturating_sub(1);
        let share = |n: u64, of: u64| (of > 0).then(|| n as f64 / of as f64);
        OrderFigures {
            ios: self.ios,
            strict_share: share(self.strict, pairs),
            windowed_share: share(self.windowed, pairs),
            backward_share: share(self.backward, pairs),
            reordered_share: share(self.streams.reordered(), self.ios),
            reordered: self.streams.reordered(),
            extents: self.streams.extents(),
            streams: self.streams.established(),
            seeks: self.seeks.buckets(),
        }
    }
}

/// Counts of distances from the end of one I/O to the beginning of the next, by powers of two, forward and backward apart.
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
