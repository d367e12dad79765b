//! From a checked job to running threads, the handle on them, and their result.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::json;
use strata_io::{Awaited, Outcome, Queue};

use crate::block_states::BlockStates;
use crate::error::{Error, Result};
use crate::job::{Job, Mode};
use crate::journal_file::{self, JournalFile};
use crate::shared::Shared;
use crate::tally::{End, Stuck, Tally};
use crate::targets::{self, Engine, Launch};
use crate::worker::Worker;

/// How often threads are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// A thread has this much longer than a request before it counts as hanging itself.
const GRACE: Duration = Duration::from_secs(10);

/// A verification in progress or done. Dropping it asks it to stop.
#[derive(Debug)]
pub struct Run {
    shared: Arc<Shared>,
    result: Arc<Awaited<Error>>,
    passes: Option<u32>,
    blocks: u64,
}

/// Start `job`; its threads are at work when this returns.
///
/// # Errors
/// The journal or the target cannot be opened as asked, or a thread cannot make its queue.
pub fn start(job: Job) -> Result<Run> {
    let (journal, states, cut_short) = journal(&job)?;
    let job = Arc::new(job);
    let run = targets::open(&job, Starter { job: Arc::clone(&job), journal, states, cut_short });
    if let (Err(_), Mode::Run, Some(spec)) = (&run, job.mode, &job.journal) {
        // Made a moment ago, and not one write was begun.
        let _gone = std::fs::remove_file(&spec.path);
    }
    run
}

/// The journal to write, the state it holds, and whether its end is missing.
fn journal(job: &Job) -> Result<(Option<Arc<JournalFile>>, BlockStates, bool)> {
    let fresh = || BlockStates::new(0, job.blocks, job.target.dsync());
    let Some(spec) = &job.journal else { return Ok((None, fresh(), false)) };
    if job.mode == Mode::Run {
        let made = JournalFile::create(&spec.path, &job.head(), spec.sync)?;
        return Ok((Some(Arc::new(made)), fresh(), false));
    }
    let (file, replayed) = if job.mode == Mode::Check {
        (None, journal_file::look(&spec.path)?)
    } else {
        let (file, replayed) = JournalFile::resume(&spec.path, spec.sync)?;
        (Some(Arc::new(file)), replayed)
    };
    let (theirs, ours) = (&replayed.head, job.head());
    // Whether a check opens the target write-through changes nothing of what was promised.
    let same = theirs.layout() == ours.layout() && theirs.blocks == ours.blocks;
    if !same || (job.mode == Mode::Resume && theirs.durable != ours.durable) {
        let what = "the journal is of another layout; take run, sizes and write-through from it";
        return Err(strata_io::Error::refused(what, &spec.path, libc::EINVAL).into());
    }
    Ok((file, replayed.states, replayed.cut_short))
}

/// What is known before the target is opened.
struct Starter {
    job: Arc<Job>,
    journal: Option<Arc<JournalFile>>,
    states: BlockStates,
    cut_short: bool,
}

impl Launch for Starter {
    type Done = Run;

    fn go<Q: Queue + 'static>(
        self,
        engine: Engine,
        make: impl Fn(u32) -> Result<Q> + Send + Sync + 'static,
    ) -> Result<Run> {
        let Self { job, journal, states, cut_short } = self;
        let shared = Arc::new(Shared::new(job.threads));
        let make = Arc::new(make);
        let (ready, readiness) = channel();
        let (report, reports) = channel();
        let mut gates = Vec::new();
        for thread in 0..job.threads {
            let (first, end) = job.part(thread);
            let part = states.part(first, end);
            let (gate, opened) = channel::<()>();
            gates.push(gate);
            let (make, ready, report) = (Arc::clone(&make), ready.clone(), report.clone());
            let (job, journal, shared) = (Arc::clone(&job), journal.clone(), Arc::clone(&shared));
            let body = move || {
                let made = match make(thread) {
                    Ok(made) => made,
                    Err(e) => return drop(ready.send(Err(e))),
                };
                // Nobody begins before all can: a gate that is dropped unopened ends the thread.
                if ready.send(Ok(())).is_err() || opened.recv().is_err() {
                    return;
                }
                let tally = Worker::new(job, thread, made, part, journal, Arc::clone(&shared)).work();
                shared.finished(thread);
                let _gone = report.send(tally);
            };
            std::thread::Builder::new()
                .name(format!("strata-verify-{thread}"))
                .spawn(body)
                .map_err(|e| Error::system(format!("cannot start thread {thread}"), e))?;
        }
        drop((ready, report));
        if let Some(e) = readiness.iter().take(job.threads as usize).find_map(std::result::Result::err) {
            return Err(e);
        }
        for gate in gates {
            let _gone = gate.send(());
        }
        let passes = match (job.mode, job.passes) {
            (Mode::Check, _) => Some(1),
            (mode, Some(passes)) => {
                Some(passes.saturating_mul(2).saturating_add(1 + u32::from(mode == Mode::Resume)))
            }
            (_, None) => None,
        };
        let (blocks, before) = (job.blocks, states.count());
        drop(states);
        let result = Arc::new(Awaited::default());
        let (notice, watched) = (Arc::clone(&result), Arc::clone(&shared));
        let body = move || {
            let tally = gather(&reports, &watched, &job);
            notice.finish(tally.map(|tally| told(&job, &engine, &watched, before, cut_short, &tally)));
        };
        std::thread::Builder::new()
            .name("strata-verify".to_owned())
            .spawn(body)
            .map_err(|e| Error::system("cannot start the thread that gathers", e))?;
        Ok(Run { shared, result, passes, blocks })
    }
}

/// What all threads did. One that hangs in the system is told as stuck and left behind.
fn gather(reports: &Receiver<Tally>, shared: &Shared, job: &Job) -> Result<Tally> {
    let limit = Duration::from_nanos(job.stuck_after_ns) + GRACE;
    let mut whole: Option<Tally> = None;
    let mut come = 0;
    while come < job.threads {
        match reports.recv_timeout(LOOK) {
            Ok(tally) => {
                come += 1;
                match &mut whole {
                    Some(whole) => whole.merge(tally),
                    None => whole = Some(tally),
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::bug("verification", "a thread ended without its report"));
            }
            Err(RecvTimeoutError::Timeout) => {
                let hanging = shared.hanging(limit);
                if !hanging.is_empty() && hanging.len() as u32 + come >= job.threads {
                    let age_ns = limit.as_nanos() as u64;
                    let stuck =
                        hanging.iter().map(|_| Stuck { op: "submit", offset: None, age_ns }).collect();
                    let left = Tally { stuck, end: End::Stuck, ..Tally::default() };
                    let mut whole = whole.unwrap_or_default();
                    whole.merge(left);
                    return Ok(whole);
                }
                if !hanging.is_empty() {
                    shared.stop();
                }
            }
        }
    }
    Ok(whole.unwrap_or_default())
}

/// The result, schema 1.
fn told(
    job: &Job,
    engine: &Engine,
    shared: &Shared,
    (acked, in_flight, unflushed): (u64, u64, u64),
    cut_short: bool,
    tally: &Tally,
) -> String {
    let settled = tally.fault_log.settle(&job.layout(), job.list as usize);
    let mut torn = tally.torn_offsets.clone();
    torn.sort_unstable();
    torn.truncate(job.list as usize);
    let write_failures: Vec<_> = tally
        .write_failures
        .iter()
        .map(|(errno, f)| json!({"errno": errno, "count": f.count, "first_offset": f.first_offset}))
        .collect();
    let journal = job.journal.as_ref().filter(|_| job.mode != Mode::Run).map(|_| {
        json!({"acknowledged": acked, "in_flight": in_flight, "unflushed": unflushed, "cut_short": cut_short})
    });
    json!({
        "schema": 1,
        "mode": job.mode,
        "run": format!("{:016x}", job.run),
        "end": tally.end,
        "engine": engine,
        "first_byte": job.first_byte,
        "blocks": job.blocks,
        "block_bytes": job.bs,
        "sector_bytes": job.sector,
        "elapsed_ns": shared.elapsed().as_nanos() as u64,
        "passes": tally.passes,
        "reads": tally.reads,
        "writes": tally.writes,
        "read_bytes": tally.read_bytes,
        "write_bytes": tally.write_bytes,
        "flushes": tally.flushes,
        "flush_failures": tally.flush_failures,
        "flush_unsupported": tally.flush_unsupported,
        "verified_blocks": tally.verified,
        "write_failures": write_failures,
        "stuck": tally.stuck,
        "counts": settled.counts,
        "faults": settled.listed,
        "faults_beyond": settled.beyond,
        "in_flight": {
            "new": tally.in_flight_new,
            "old": tally.in_flight_old,
            "torn": tally.torn_in_flight,
            "torn_offsets": torn,
        },
        "journal": journal,
    })
    .to_string()
}

impl Run {
    /// How far it is, as JSON.
    #[must_use]
    pub fn poll(&self) -> String {
        self.shared.progress(self.passes, self.blocks)
    }

    /// Ask for a clean end; what was verified so far is the result.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Wait up to `timeout` for the result as JSON; with none: the result when there is one.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<Outcome<Error>> {
        self.result.wait(timeout)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.stop();
    }
}
