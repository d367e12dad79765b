//! What is wrong with a job, all of it at once.

mod access;

use strata_io::bounds::{
    BS_MOST, BUFFERS_MOST, CPU_HIGHEST, INTERVAL_LEAST_NS, IODEPTH_MOST, RATE_MOST, THREADS_MOST,
    TIME_MOST_NS,
};

use crate::clock::{Clock as _, Monotonic};
use crate::job::Job;
use crate::job_pattern;

const MIN_LEASE_NS: u64 = 100_000_000;
/// A start beyond it is one on another machine's clock.
const MAX_WAIT_NS: u64 = 86_400 * 1_000_000_000;

/// Every problem, as "field: what is wrong"; empty when there is none.
pub fn problems(job: &Job) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |holds: bool, text: &dyn Fn() -> String| {
        if !holds {
            found.push(text());
        }
    };
    let within = |n: u64, low: u64, high: u64| (low..=high).contains(&n);
    let w = &job.workload;
    check(job.schema == 1, &|| format!("schema: {} is not supported, this engine supports 1", job.schema));
    check(within(u64::from(w.bs), 1, u64::from(BS_MOST)), &|| {
        format!("workload.bs: {} is not in 1..={BS_MOST}", w.bs)
    });
    check(within(u64::from(w.iodepth), 1, u64::from(IODEPTH_MOST)), &|| {
        format!("workload.iodepth: {} is not in 1..={IODEPTH_MOST}", w.iodepth)
    });
    check(within(u64::from(w.threads), 1, u64::from(THREADS_MOST)), &|| {
        format!("workload.threads: {} is not in 1..={THREADS_MOST}", w.threads)
    });
    let memory = u64::from(w.bs).saturating_mul(u64::from(w.iodepth)).saturating_mul(u64::from(w.threads));
    check(memory <= BUFFERS_MOST, &|| {
        format!(
            "workload: bs × iodepth × threads is {memory} bytes of buffers, above {} GiB",
            BUFFERS_MOST >> 30
        )
    });
    check(w.rwmixread <= 100, &|| format!("workload.rwmixread: {} is not a percentage", w.rwmixread));
    check(job.batch >= 1, &|| "batch: must be at least 1".to_owned());
    check(within(job.runtime_ns, 1, TIME_MOST_NS), &|| {
        format!("runtime_ns: {} is not in 1 ns to a year", job.runtime_ns)
    });
    check(job.ramp_ns <= TIME_MOST_NS, &|| format!("ramp_ns: {} is beyond a year", job.ramp_ns));
    check(within(job.interval_ns, INTERVAL_LEAST_NS, TIME_MOST_NS), &|| {
        format!("interval_ns: {} is not in 1 ms to a year", job.interval_ns)
    });
    check(job.stop_after.ios != Some(0) && job.stop_after.bytes != Some(0), &|| {
        "stop_after: 0 would measure nothing".to_owned()
    });
    check(
        job.pin_cpus.as_ref().is_none_or(|cpus| !cpus.is_empty() && cpus.iter().all(|&c| c <= CPU_HIGHEST)),
        &|| format!("pin_cpus: must name at least one CPU, each at most {CPU_HIGHEST}"),
    );
    check(job.pin_nodes.as_ref().is_none_or(|nodes| !nodes.is_empty() && job.pin_cpus.is_none()), &|| {
        "pin_nodes: must name at least one node, and not together with pin_cpus".to_owned()
    });
    if let Some(rate) = w.rate_iops {
        check(rate.iops.is_finite() && rate.iops > 0.0 && rate.iops <= f64::from(RATE_MOST), &|| {
            format!("workload.rate_iops.iops: {} is not in 0 (exclusive) to {RATE_MOST}", rate.iops)
        });
        check(rate.burst >= 1, &|| "workload.rate_iops.burst: must be at least 1".to_owned());
        check(w.limits.is_none(), &|| {
            "workload.limits: an open loop starts I/Os by its rate alone; give one of the two".to_owned()
        });
    }
    if let Some(limits) = &w.limits {
        let positive = |ceiling: Option<f64>| ceiling.is_none_or(|c| c.is_finite() && c > 0.0);
        check(positive(limits.iops) && positive(limits.bytes_per_s), &|| {
            "workload.limits: a ceiling must be above 0".to_owned()
        });
        check(limits.think_every >= 1, &|| "workload.limits.think_every: must be at least 1".to_owned());
        check(limits.think_ns <= TIME_MOST_NS, &|| {
            format!("workload.limits.think_ns: {} is beyond a year", limits.think_ns)
        });
    }
    check(job.drain_ns <= TIME_MOST_NS, &|| format!("drain_ns: {} is beyond a year", job.drain_ns));
    check(job.lease_ns.is_none_or(|ns| within(ns, MIN_LEASE_NS, TIME_MOST_NS)), &|| {
        "lease_ns: must be 100 ms to a year".to_owned()
    });
    let from_now_ns = job.start_at_ns.map_or(0, |at_ns| at_ns.saturating_sub(Monotonic.now_ns()));
    check(from_now_ns <= MAX_WAIT_NS, &|| {
        format!(
            "start_at_ns: lies {} s ahead of this machine's CLOCK_MONOTONIC, more than a day",
            from_now_ns / 1_000_000_000
        )
    });
    found.extend(access::pattern_problems(w));
    found.extend(access::target_problems(job));
    if found.is_empty() {
        // Whether there are blocks can only be told of a job that is sound otherwise.
        found.extend(job_pattern::pattern(job).err().unwrap_or_default());
    }
    found
}
