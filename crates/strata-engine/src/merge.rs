//! Intervals of several threads made into intervals of the run, and those into its totals.

use std::collections::BTreeMap;

use strata_hist::Histogram;

use crate::encode_histogram;
use crate::outcome::{Interval, IntervalDirection};
use crate::record::{LanePart, Part};

/// Sum of one direction.
#[derive(Debug, Default)]
pub struct Sum {
    pub ops: u64,
    pub errors: u64,
    pub service: Histogram,
}

impl Sum {
    fn add(&mut self, part: &LanePart) {
        self.ops += part.ops;
        self.errors += part.errors;
        self.service.merge_sparse(&part.service);
    }

    fn encode(&self, block_bytes: u64) -> IntervalDirection {
        IntervalDirection {
            ops: self.ops,
            bytes: self.ops * block_bytes,
            errors: self.errors,
            service_time: (self.service.count() > 0).then(|| encode_histogram(&self.service)),
            service_sum_ns: saturate(self.service.sum_ns()),
        }
    }
}

/// A sum of ns for JSON; 2^64 ns are 584 years.
pub fn saturate(sum_ns: u128) -> u64 {
    u64::try_from(sum_ns).unwrap_or(u64::MAX)
}

#[derive(Debug, Default)]
struct Open {
    end_ns: u64,
    read: Sum,
    write: Sum,
}

/// Collects the parts and gives out each interval once every thread has delivered it.
#[derive(Debug)]
pub struct Merger {
    interval_ns: u64,
    block_bytes: u64,
    /// How many intervals each thread has delivered; `u64::MAX` when it will deliver no more.
    delivered: Vec<u64>,
    open: BTreeMap<u64, Open>,
    /// Service times of each thread, both directions.
    pub threads: Vec<Histogram>,
    /// Everything of the run.
    pub read: Sum,
    /// Everything of the run.
    pub write: Sum,
}

impl Merger {
    pub fn new(threads: u32, interval_ns: u64, block_bytes: u64) -> Self {
        let (delivered, threads) =
            (vec![0; threads as usize], (0..threads).map(|_| Histogram::new()).collect());
        let (read, write) = (Sum::default(), Sum::default());
        Self { interval_ns, block_bytes, delivered, open: BTreeMap::new(), threads, read, write }
    }

    /// Take a part.
    pub fn add(&mut self, part: &Part) {
        let open = self.open.entry(part.index).or_default();
        open.end_ns = open.end_ns.max(part.end_ns);
        open.read.add(&part.read);
        open.write.add(&part.write);
        self.read.add(&part.read);
        self.write.add(&part.write);
        let times = &mut self.threads[part.thread as usize];
        times.merge_sparse(&part.read.service);
        times.merge_sparse(&part.write.service);
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
            .map(|(index, open)| Interval {
                start_ns: index * self.interval_ns,
                end_ns: open.end_ns,
                read: open.read.encode(self.block_bytes),
                write: open.write.encode(self.block_bytes),
            })
            .collect()
    }
}
