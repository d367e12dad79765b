//! Intervals of several threads made into intervals of the run, and those into its totals.

use std::collections::BTreeMap;

use strata_hist::Histogram;

use crate::encode_histogram;
use crate::outcome::{Interval, IntervalDirection};
use crate::record::{LANES, LanePart, Part};

/// Sum of one kind of I/O.
#[derive(Debug, Default)]
pub struct Sum {
    pub ops: u64,
    pub bytes: u64,
    pub errors: u64,
    pub service: Histogram,
}

impl Sum {
    fn add(&mut self, part: &LanePart) {
        self.ops += part.ops;
        self.bytes += part.bytes;
        self.errors += part.errors;
        self.service.merge_sparse(&part.service);
    }

    fn encode(&self) -> IntervalDirection {
        IntervalDirection {
            ops: self.ops,
            bytes: self.bytes,
            errors: self.errors,
            service_time: (!self.service.is_empty()).then(|| encode_histogram(&self.service)),
            service_sum_ns: saturate(self.service.sum_ns()),
        }
    }
}

/// A sum of ns for JSON; 2^64 ns are 584 years.
pub fn saturate(sum_ns: u128) -> u64 {
    u64::try_from(sum_ns).unwrap_or(u64::MAX)
}

/// Both kinds of flush as one; `None` without any.
pub fn flushes([.., fsync, fdatasync]: &[Sum; LANES]) -> Option<Sum> {
    let mut whole = Sum::default();
    for sum in [fsync, fdatasync] {
        whole.ops += sum.ops;
        whole.errors += sum.errors;
        whole.service.merge(&sum.service);
    }
    (whole.ops + whole.errors > 0).then_some(whole)
}

#[derive(Debug, Default)]
struct Open {
    end_ns: u64,
    sums: [Sum; LANES],
}

/// Collects the parts and gives out each interval once every thread has delivered it.
#[derive(Debug)]
pub struct Merger {
    interval_ns: u64,
    /// How many intervals each thread has delivered; `u64::MAX` when it will deliver no more.
    delivered: Vec<u64>,
    open: BTreeMap<u64, Open>,
    /// Service times of each thread, all operations.
    pub threads: Vec<Histogram>,
    /// Everything of the run, one for each operation.
    pub totals: [Sum; LANES],
}

impl Merger {
    pub fn new(threads: u32, interval_ns: u64) -> Self {
        let (delivered, threads) =
            (vec![0; threads as usize], (0..threads).map(|_| Histogram::new()).collect());
        Self { interval_ns, delivered, open: BTreeMap::new(), threads, totals: Default::default() }
    }

    /// Take a part.
    pub fn add(&mut self, part: &Part) {
        let open = self.open.entry(part.index).or_default();
        open.end_ns = open.end_ns.max(part.end_ns);
        for (lane, part) in part.lanes.iter().enumerate() {
            open.sums[lane].add(part);
            self.totals[lane].add(part);
        }
        // Flushes are not among the times of a thread, as they are none of its reads and writes.
        let times = &mut self.threads[part.thread as usize];
        part.lanes[..2].iter().for_each(|lane| times.merge_sparse(&lane.service));
        self.delivered[part.thread as usize] = part.index + 1;
    }

    /// A thread will deliver no more.
    pub fn finish(&mut self, thread: u32) {
        self.delivered[thread as usize] = u64::MAX;
    }

    /// The intervals that have become complete, in order.
    pub fn complete(&mut self) -> Vec<Interval> {
        let below = self.delivered.iter().copied().min().unwrap_or(0);
        let later = self.open.split_off(&below);
        let done = std::mem::replace(&mut self.open, later);
        done.into_iter()
            .map(|(index, Open { end_ns, sums })| Interval {
                start_ns: index * self.interval_ns,
                end_ns,
                read: sums[0].encode(),
                write: sums[1].encode(),
                sync: flushes(&sums).map(|sum| sum.encode()),
            })
            .collect()
    }
}
