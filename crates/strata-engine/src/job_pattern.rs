//! From the words of a job to the pattern its threads draw from.

use strata_pattern as pattern;
use strata_pattern::{Area, BlockMap, Cut, Distribution, Mix, Op, Pattern, Segment, Sizes, Span, Stride};

use crate::job::{Job, Order, WeightedTarget, Workload};

/// The pattern of a job that has no other problem; else what is wrong with its blocks.
pub fn pattern(job: &Job) -> Result<Pattern, Vec<String>> {
    let w = &job.workload;
    let (sizes, order) = (sizes(w), order(w));
    let cut = Cut { step: step(w), length: w.bs.into(), shift: w.misalign.into() };
    let mut problems = Vec::new();
    let mut areas = Vec::new();
    for (number, weighted) in job.all_targets().iter().enumerate() {
        match BlockMap::cut(&clipped(w, &weighted.segments), cut) {
            Some(map) => areas.push(Area::new(map, weighted.weight)),
            None => problems.push(format!(
                "{}: no block of {} bytes lies wholly inside one segment{}",
                job.segments_name(number),
                w.bs,
                if w.range.is_some() { " and workload.range" } else { "" }
            )),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut made = Pattern::over(areas, order, sizes, mix(w), w.seed);
    made.distribution = w.deal;
    made.flush = flush(w);
    // Where a thread has no block, the first or the last one that goes to its target has none.
    let apart = if w.deal == Distribution::Thread { made.areas.len() as u32 } else { 1 };
    let ends = (0..w.threads.min(apart)).chain(w.threads.saturating_sub(apart)..w.threads);
    match ends.into_iter().find(|&thread| made.access(thread, w.threads).is_none()) {
        None => Ok(made),
        Some(thread) => Err(vec![without_blocks(&made, thread, w.threads)]),
    }
}

fn without_blocks(made: &Pattern, thread: u32, threads: u32) -> String {
    let blocks: u64 = (0..made.areas.len()).map(|target| made.blocks(target as u16)).min().unwrap_or(0);
    match made.order {
        pattern::Order::Zones(_) => {
            format!("workload.order.zones: a zone that should get I/Os holds none of the {blocks} blocks")
        }
        pattern::Order::Strided(Stride { thread_offset: Some(_), .. }) => {
            format!(
                "workload.order.thread_offset: thread {thread} would begin behind the last of {blocks} blocks"
            )
        }
        _ => format!("workload.threads: {threads} threads cannot share a sequence of {blocks} blocks"),
    }
}

/// The segments as far as they lie inside the asked range.
fn clipped(w: &Workload, segments: &[Segment]) -> Vec<Segment> {
    let (start, end) = w.range.map_or((0, u64::MAX), |range| {
        (range.start, range.length.map_or(u64::MAX, |length| range.start.saturating_add(length)))
    });
    let clip = |s: &Segment| {
        let (from, to) = (s.start.max(start), (s.start + s.length).min(end));
        let target = s.target + from.checked_sub(s.start)?;
        (from < to).then(|| Segment { start: from, length: to - from, target })
    };
    segments.iter().filter_map(clip).collect()
}

fn mix(w: &Workload) -> Mix {
    match (w.rw.reads(), w.rw.writes(), w.rwmix_run) {
        (true, false, _) => Mix::Read,
        (false, ..) => Mix::Write,
        (true, true, 0 | 1) => Mix::ReadPercent(w.rwmixread),
        (true, true, run) => Mix::Bursts(w.rwmixread, run),
    }
}

fn flush(w: &Workload) -> Option<pattern::Flush> {
    match (w.fsync, w.fdatasync) {
        (0, 0) => None,
        (0, every) => Some(pattern::Flush { op: Op::Fdatasync, every }),
        (every, _) => Some(pattern::Flush { op: Op::Fsync, every }),
    }
}

/// The lengths of the directions that the workload has.
pub fn sizes(w: &Workload) -> Sizes {
    let mut sizes = w.bssplit.clone().unwrap_or_else(|| Sizes::one(w.bs));
    match mix(w) {
        Mix::Read => sizes.write.clear(),
        Mix::Write => sizes.read.clear(),
        _ => {}
    }
    sizes
}

/// Distance between the places where an I/O may begin, in bytes.
pub fn step(w: &Workload) -> u64 {
    if let Some(align) = w.align {
        return align.into();
    }
    let gaps = match &w.order {
        Some(Order::Strided(Stride { stride, thread_offset })) => [*stride, *thread_offset],
        _ => [None; 2],
    };
    let lengths = sizes(w).all().map(u64::from).collect::<Vec<_>>();
    lengths.into_iter().chain(gaps.into_iter().flatten()).fold(0, gcd).max(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn order(w: &Workload) -> pattern::Order {
    match &w.order {
        None if w.rw.is_random() => pattern::Order::Random,
        None | Some(Order::Parts {}) => pattern::Order::Sequential,
        Some(Order::Interlocked {}) => pattern::Order::Interlocked,
        Some(Order::Strided(stride)) => pattern::Order::Strided(*stride),
        Some(Order::Uniform {}) => pattern::Order::Random,
        Some(Order::Once {}) => pattern::Order::Once,
        Some(Order::Zipf { theta }) => pattern::Order::Zipf(*theta),
        Some(Order::Zones { zones }) => pattern::Order::Zones(zones.iter().map(zone).collect()),
    }
}

fn zone(zone: &crate::job::Zone) -> pattern::Zone {
    let percent = || Span::Percent(zone.range_percent.unwrap_or(0.0));
    pattern::Zone { access: zone.access_percent, span: zone.range_bytes.map_or_else(percent, Span::Bytes) }
}

impl Job {
    /// The targets with their shares and blocks, whichever way the job names them.
    #[must_use]
    pub fn all_targets(&self) -> Vec<WeightedTarget> {
        let only = self.target.iter().map(|target| WeightedTarget {
            target: target.clone(),
            weight: 1,
            segments: self.workload.segments.clone(),
        });
        only.chain(self.targets.iter().cloned()).collect()
    }

    /// The name of the segments of target number `number`.
    pub(crate) fn segments_name(&self, number: usize) -> String {
        if self.target.is_some() {
            "workload.segments".to_owned()
        } else {
            format!("targets[{number}].segments")
        }
    }

    /// The name of target number `number`.
    pub(crate) fn target_name(&self, number: usize) -> String {
        if self.target.is_some() { "target".to_owned() } else { format!("targets[{number}].target") }
    }
}
