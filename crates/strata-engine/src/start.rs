//! From a checked job to its backend.

use strata_io::Kind;
use strata_pattern::Pattern;
use strata_remote::dispatch;

use crate::backend::{self, Spec};
use crate::control::Reason;
use crate::error::{Error, Result};
use crate::job::{Job, OnError, Target, WeightedTarget};
use crate::outcome::BuildInfo;
use crate::run::Run;
use crate::worker::{BufferFill, Recipe};
use crate::{job_pattern, place, remote};

/// Start `job`; the threads are loading when this returns.
///
/// # Errors
/// The job is refused, the target cannot be opened as asked, or a thread cannot make its queue.
pub fn start(job: &Job, build: BuildInfo) -> Result<Run> {
    let recipe = recipe(job)?;
    let limit = limit(job, &recipe.pattern);
    let (all_targets, writes) = (job.all_targets(), job.workload.rw.writes());
    if let [WeightedTarget { target, .. }] = &*all_targets
        && let Some((kind, asked)) = target.remote()
    {
        return dispatch!(kind, S => remote::launch::<S>(asked, writes, recipe, build, limit));
    }
    let spec = |weighted: &WeightedTarget| match &weighted.target {
        Target::File { path, fd, direct, sync, .. } => {
            Some(Spec { path: path.into(), fd: *fd, kind: Kind::File, direct: *direct, sync: *sync })
        }
        Target::Block { path, fd, direct, sync, .. } => {
            Some(Spec { path: path.into(), fd: *fd, kind: Kind::Block, direct: *direct, sync: *sync })
        }
        _ => None,
    };
    let specs: Vec<Spec> = all_targets.iter().filter_map(spec).collect();
    if specs.is_empty() {
        return backend::null(recipe, build, limit);
    }
    backend::disk(&specs, job.engine, job.workload.rw.change(), recipe, build, limit, None)
}

fn recipe(job: &Job) -> Result<Recipe> {
    let w = &job.workload;
    Ok(Recipe {
        pattern: job_pattern::pattern(job).map_err(Error::Job)?,
        seed: w.seed,
        threads: w.threads,
        depth: w.iodepth,
        batch: job.batch,
        block_bytes: w.bs,
        rate: w.rate_iops,
        limits: w.limits,
        ramp_ns: job.ramp_ns,
        runtime_ns: job.runtime_ns,
        interval_ns: job.interval_ns,
        stop_on_error: job.on_error == OnError::Stop,
        pin: place::of(job)?,
        fill_buffer: BufferFill::of(w),
        drain_ns: job.drain_ns,
        start_at_ns: job.start_at_ns,
        lease_ns: job.lease_ns,
    })
}

/// The limit of a job in I/Os of this pattern, and what it is called.
fn limit(job: &Job, pattern: &Pattern) -> Option<(u64, Reason)> {
    let ios = job.stop_after.ios.map(|n| (n, Reason::Ios));
    let whole = |bytes: u64| ((bytes as f64 / pattern.mean_bytes()).ceil() as u64, Reason::Bytes);
    [ios, job.stop_after.bytes.map(whole)].into_iter().flatten().min_by_key(|&(n, _)| n)
}
