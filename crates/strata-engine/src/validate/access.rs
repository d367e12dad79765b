//! What is wrong with the targets and the pattern of a job.

use std::path::Path;

use strata_io::bounds::{BS_MOST, CONNECTIONS_MOST, CONTENT_PERCENT_MOST, THETA_MOST};
use strata_pattern::{Distribution, Stride};
use strata_remote::{Scheme, dispatch};

use crate::job::{Job, Order, Target, WeightedTarget, Workload, Zone};
use crate::job_pattern;

/// I/Os carry the number of their target in 16 bits; fewer files than that are open in a process by default.
const MAX_TARGETS: usize = 4096;

/// Problems of the targets.
pub fn target_problems(job: &Job) -> Vec<String> {
    let mut found = Vec::new();
    let all_targets = job.all_targets();
    if job.target.is_some() != job.targets.is_empty() {
        found.push("target: give one target, or several as targets".to_owned());
    }
    if job.target.is_none() && !job.workload.segments.is_empty() {
        found.push("workload.segments: several targets have segments of their own".to_owned());
    }
    if all_targets.len() > MAX_TARGETS {
        found.push(format!("targets: {} are more than {MAX_TARGETS}", all_targets.len()));
    }
    if let Some(first) = all_targets.first()
        && let Some(other) = all_targets.iter().find(|weighted| kind(weighted) != kind(first))
    {
        found.push(format!("targets: {} and {} cannot be loaded by one engine", kind(first), kind(other)));
    }
    if all_targets.len() > 1 && all_targets.iter().any(|weighted| weighted.target.remote().is_some()) {
        let text = "targets: one export at a time, as one file or unit of a server; load several by runs of their own";
        found.push(text.to_owned());
    }
    if all_targets.iter().map(|weighted| u64::from(weighted.weight)).sum::<u64>() == 0
        && !all_targets.is_empty()
    {
        found.push("targets: one of them must have a weight above 0".to_owned());
    }
    let threads = job.workload.threads as usize;
    if job.workload.deal == Distribution::Thread && threads < all_targets.len() {
        found.push(format!("workload.deal: {threads} threads are too few for {} targets", all_targets.len()));
    }
    for (number, weighted) in all_targets.iter().enumerate() {
        let name = job.target_name(number);
        found.extend(job.workload.rw.refusal(&weighted.target).map(|why| format!("{name}: {why}")));
        found.extend(one_target(&weighted.target, &name));
        found.extend(segments(weighted, &job.segments_name(number)));
    }
    found
}

fn kind(weighted: &WeightedTarget) -> &'static str {
    weighted.target.kind()
}

fn one_target(target: &Target, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let path_is_good = |path: &str| !path.is_empty() && !path.contains('\0');
    match target {
        Target::File { path, create, .. } => {
            if !path_is_good(path) {
                found.push(format!("{name}.path: empty, or holds a NUL"));
            }
            if *create {
                found.push(format!("{name}.create: the engine never creates files; make the file first"));
            }
        }
        Target::Block { path, .. } if !path_is_good(path) || !Path::new(path).is_absolute() => {
            found.push(format!("{name}.path: {path:?} is not an absolute path of a device"));
        }
        _ => {}
    }
    if let Some((kind, remote)) = target.remote() {
        let connections = remote.connections;
        if !(1..=CONNECTIONS_MOST).contains(&connections) {
            found.push(format!("{name}.connections: {connections} is not in 1..={CONNECTIONS_MOST}"));
        }
        let words = dispatch!(kind, S => S::WORDS);
        for (word, given) in [("password", remote.password.is_some()), ("direct", remote.direct)] {
            if given && !words.contains(&word) {
                found.push(format!("{name}.{word}: a target of {} has none", kind.name()));
            }
        }
    }
    found
}

fn segments(weighted: &WeightedTarget, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut end = 0;
    for (number, s) in weighted.segments.iter().enumerate() {
        let ends = (s.start.checked_add(s.length), s.target.checked_add(s.length));
        let (Some(logical_end), Some(target_end)) = ends else {
            found.push(format!("{name}[{number}]: ends beyond 64 bits"));
            continue;
        };
        if target_end > i64::MAX as u64 {
            found.push(format!("{name}[{number}]: ends beyond the largest file offset"));
        }
        if s.start < end {
            found.push(format!(
                "{name}[{number}]: starts at {}, before the one before it ends ({end})",
                s.start
            ));
        }
        end = logical_end;
    }
    found
}

/// Problems of order, sizes, flushes and data.
pub fn pattern_problems(w: &Workload) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |holds: bool, text: String| {
        if !holds {
            found.push(text);
        }
    };
    if let Some(order) = &w.order {
        let random = !matches!(order, Order::Interlocked {} | Order::Strided(_) | Order::Parts {});
        let rw = if w.rw.is_random() { "random" } else { "sequential" };
        check(random == w.rw.is_random(), format!("workload.order: does not apply to {rw} rw"));
    }
    if let Some(split) = &w.bssplit {
        let (reads, writes) = (w.rw.reads(), w.rw.writes());
        for (wanted, name, shares) in [(reads, "read", &split.read), (writes, "write", &split.write)] {
            let weights: u64 = shares.iter().map(|share| u64::from(share.weight)).sum();
            check(
                !wanted || weights > 0,
                format!("workload.bssplit.{name}: needs a size with a weight above 0"),
            );
            let sized = shares.iter().all(|share| (1..=BS_MOST).contains(&share.bytes));
            check(sized, format!("workload.bssplit.{name}: a size is not in 1..={BS_MOST}"));
        }
        let longest = job_pattern::sizes(w).all().max().unwrap_or(0);
        check(
            longest == w.bs,
            format!("workload.bs: must be the longest of bssplit, {longest}, and is {}", w.bs),
        );
        let once = matches!(w.order, Some(Order::Once {}));
        check(
            !once,
            "workload.order: coverage without repeats needs blocks of one size, not bssplit".to_owned(),
        );
    }
    check(w.rwmix_run >= 1, "workload.rwmix_run: must be at least 1".to_owned());
    check(w.align != Some(0), "workload.align: must be at least 1".to_owned());
    if let Some(Order::Strided(Stride { stride, thread_offset })) = w.order {
        for (bytes, name) in [(stride, "stride"), (thread_offset, "thread_offset")] {
            let align = u64::from(w.align.unwrap_or(1)).max(1);
            let fits = bytes.is_none_or(|bytes| bytes > 0 && bytes.is_multiple_of(align));
            check(fits, format!("workload.order.{name}: must be a multiple of workload.align, above 0"));
        }
    }
    if let Some(Order::Zipf { theta }) = w.order {
        let sound = theta.is_finite() && theta > 0.0 && theta <= f64::from(THETA_MOST);
        check(sound, format!("workload.order.theta: {theta} is not in 0 (exclusive) to {THETA_MOST}"));
    }
    if let Some(Order::Zones { zones }) = &w.order {
        found.extend(zone_problems(zones));
    }
    let step = if w.bs > 0 && w.align != Some(0) { job_pattern::step(w) } else { u64::MAX };
    let mut check = |holds: bool, text: &str| {
        if !holds {
            found.push(text.to_owned());
        }
    };
    check(
        u64::from(w.misalign) < step,
        "workload.misalign: must be below the distance between blocks (align, else bs)",
    );
    check(w.range.is_none_or(|range| range.length != Some(0)), "workload.range: is empty");
    check(w.fsync == 0 || w.fdatasync == 0, "workload: fsync and fdatasync at once; give one of the two");
    let flushes = w.fsync > 0 || w.fdatasync > 0;
    check(!flushes || w.rw.carries(), "workload: fsync and fdatasync follow writes, and there are none");
    if let Some(data) = w.data {
        check(w.rw.carries(), "workload.data: applies to writes, and there are none");
        let sound = |percent: u8| u32::from(percent) <= CONTENT_PERCENT_MOST;
        let text =
            format!("workload.data: compress_percent and dedupe_percent are 0 to {CONTENT_PERCENT_MOST}");
        check(sound(data.compress_percent) && sound(data.dedupe_percent), &text);
    }
    found
}

fn zone_problems(zones: &[Zone]) -> Vec<String> {
    let mut found = Vec::new();
    let percent = |p: f64| p.is_finite() && (0.0..=100.0).contains(&p);
    for (number, zone) in zones.iter().enumerate() {
        if !percent(zone.access_percent) || !zone.range_percent.is_none_or(percent) {
            found.push(format!("workload.order.zones[{number}]: a share is not a percentage"));
        }
        if zone.range_percent.is_some() == zone.range_bytes.is_some() {
            found.push(format!("workload.order.zones[{number}]: give range_percent or range_bytes"));
        }
    }
    let access: f64 = zones.iter().map(|zone| zone.access_percent).sum();
    let range: f64 = zones.iter().filter_map(|zone| zone.range_percent).sum();
    // As many decimals as a person writes.
    if access > 100.0 + 1e-6 || range > 100.0 + 1e-6 {
        found.push(format!(
            "workload.order.zones: shares add up to {access} % of the I/Os and {range} % of the range"
        ));
    }
    if access <= 0.0 {
        found.push("workload.order.zones: no zone gets any I/O".to_owned());
    }
    found
}
