//! A client without a cost of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Model, Op, SECOND};

/// What a loop saw.
pub struct Seen {
    pub ios: u64,
    pub bytes: u64,
    pub elapsed_ns: u64,
    pub latencies_ns: Vec<u64>,
}

impl Seen {
    pub fn iops(&self) -> f64 {
        self.ios as f64 * 1e9 / self.elapsed_ns as f64
    }

    pub fn mb_s(&self) -> f64 {
        self.bytes as f64 * 1e3 / self.elapsed_ns as f64
    }

    pub fn mean_us(&self) -> f64 {
        self.latencies_ns.iter().sum::<u64>() as f64 / self.latencies_ns.len() as f64 / 1e3
    }
}

/// `depth` I/Os under way for a second from `begin_ns` on; `think_ns` passes between an answer and the I/O that follows
/// it. The places come from `next`.
pub fn closed(
    model: &mut Model,
    op: Op,
    depth: usize,
    think_ns: u64,
    begin_ns: u64,
    mut next: impl FnMut(u64) -> (u64, u64),
) -> Seen {
    let mut ends = BinaryHeap::from(vec![Reverse((begin_ns, None)); depth]);
    let mut seen = Seen { ios: 0, bytes: 0, elapsed_ns: SECOND, latencies_ns: Vec::new() };
    let mut issued = 0;
    while let Some(Reverse((end, of))) = ends.pop() {
        if end > begin_ns + SECOND {
            break;
        }
        let mut now = end;
        if let Some((latency, len)) = of {
            seen.ios += 1;
            seen.bytes += len;
            seen.latencies_ns.push(latency);
            now += think_ns;
        }
        let (offset, len) = next(issued);
        issued += 1;
        let done = model.serve(now, op, offset, len).done_ns;
        ends.push(Reverse((done, Some((done - now, len)))));
    }
    seen
}

/// Blocks of `len` one after another.
pub fn sequential(len: u64) -> impl FnMut(u64) -> (u64, u64) {
    move |i| (i * len, len)
}

/// Blocks of `len` anywhere: a fixed walk that hits all places alike.
pub fn random(len: u64) -> impl FnMut(u64) -> (u64, u64) {
    let mut rng = strata_pattern::Rng::new(7, 7);
    move |_| (rng.below(super::SIZE / len) * len, len)
}

/// Each pair of neighbours the wrong way round: 1, 0, 3, 2, …
pub fn swapped(len: u64) -> impl FnMut(u64) -> (u64, u64) {
    move |i| ((i ^ 1) * len, len)
}
