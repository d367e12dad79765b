//! From a checked job to running threads, and the handle on them.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use strata_io::Queue;
use strata_pattern::{Mix, Order};

use crate::backend;
use crate::clock::{self, Clock, Monotonic};
use crate::conductor::{Board, Conductor, Epilogue};
use crate::control::{Control, Reason};
use crate::error::{Error, Result};
use crate::job::{Job, OnError, Rw};
use crate::outcome::{BuildInfo, ClockInfo, Effective, EngineInfo};
use crate::place;
use crate::tsc::Tsc;
use crate::validate;
use crate::worker::{self, Dress, Made, Recipe};

/// A run in progress or done. Dropping it asks the run to stop.
pub struct Run {
    control: Arc<Control>,
    board: Arc<Board>,
    /// The run's own clock: instants of two clocks cannot be compared to the ns.
    now_ns: Box<dyn Fn() -> u64 + Send + Sync>,
}

/// Start `job`; the threads are loading when this returns.
///
/// # Errors
/// The job is refused, the target cannot be opened as asked, or a thread cannot make its queue.
pub fn start(job: &Job, build: BuildInfo) -> Result<Run> {
    let recipe = recipe(job)?;
    backend::launch(job, recipe, build)
}

fn recipe(job: &Job) -> Result<Recipe> {
    let w = &job.workload;
    let map =
        validate::block_map(w).ok_or_else(|| Error::Job(vec!["workload.segments: no block".to_owned()]))?;
    Ok(Recipe {
        map,
        order: if w.rw.is_random() { Order::Random } else { Order::Sequential },
        mix: match w.rw {
            Rw::Read | Rw::RandRead => Mix::Read,
            Rw::Write | Rw::RandWrite => Mix::Write,
            Rw::Rw | Rw::RandRw => Mix::ReadPercent(w.rwmixread),
        },
        seed: w.seed,
        threads: w.threads,
        depth: w.iodepth,
        batch: job.batch,
        block_bytes: w.bs,
        rate: w.rate_iops,
        ramp_ns: job.ramp_ns,
        runtime_ns: job.runtime_ns,
        interval_ns: job.interval_ns,
        stop_on_error: job.on_error == OnError::Stop,
        pin: place::of(job)?,
        dress: Dress::Stamp,
    })
}

/// The limit of a job in I/Os, and what it is called.
pub(crate) fn limit(job: &Job) -> Option<(u64, Reason)> {
    let ios = job.stop_after.ios.map(|n| (n, Reason::Ios));
    let bytes = job.stop_after.bytes.map(|n| (n.div_ceil(u64::from(job.workload.bs)), Reason::Bytes));
    [ios, bytes].into_iter().flatten().min_by_key(|&(n, _)| n)
}

/// What a backend knows when it is ready to make queues.
pub(crate) struct Launch<F> {
    pub recipe: Recipe,
    pub factory: F,
    pub kind: &'static str,
    pub fallback_reason: Option<String>,
    pub effective: Effective,
    /// The endpoint's name, for messages.
    pub endpoint: String,
    pub build: BuildInfo,
    pub limit: Option<(u64, Reason)>,
    pub epilogue: Option<Epilogue>,
}

impl<F> Launch<F> {
    /// Start the threads, wait until each has its queue, and let them go.
    pub fn go<Q>(self) -> Result<Run>
    where
        Q: Queue + 'static,
        F: Fn(u32) -> Result<Made<Q>> + Send + Sync + 'static,
    {
        match Tsc::calibrated() {
            Some(clock) => self.go_by(clock),
            None => self.go_by(Monotonic),
        }
    }

    fn go_by<Q, C>(self, clock: C) -> Result<Run>
    where
        Q: Queue + 'static,
        C: Clock + Copy + Send + Sync + 'static,
        F: Fn(u32) -> Result<Made<Q>> + Send + Sync + 'static,
    {
        let (resolution_ns, read_cost_ns) = clock::measure(&clock);
        let control = Arc::new(Control::new(self.limit.map(|(n, _)| n)));
        let board = Arc::new(Board::default());
        let (ready, readiness) = mpsc::channel();
        let (tell, events) = mpsc::channel();
        let (recipe, factory) = (Arc::new(self.recipe.clone()), Arc::new(self.factory));
        for thread in 0..self.recipe.threads {
            let (recipe, factory, shared) = (Arc::clone(&recipe), Arc::clone(&factory), Arc::clone(&control));
            let (ready, tell) = (ready.clone(), tell.clone());
            let body = move || worker::work(thread, &recipe, &*factory, clock, &shared, ready, tell);
            if let Err(e) = std::thread::Builder::new().name(format!("strata-{thread}")).spawn(body) {
                control.abandon();
                return Err(Error::system(format!("cannot start thread {thread}"), e));
            }
        }
        drop((ready, tell));
        let mut setup = Vec::new();
        let mut refused = None;
        for said in readiness.iter().take(self.recipe.threads as usize) {
            match said {
                Ok(said) => setup = said,
                Err(e) => refused = refused.or(Some(e)),
            }
        }
        if let Some(e) = refused {
            control.abandon();
            return Err(e);
        }
        let engine = EngineInfo {
            kind: self.kind,
            setup,
            fallback_reason: self.fallback_reason,
            build: self.build,
            clock: ClockInfo { kind: C::KIND, resolution_ns, read_cost_ns },
        };
        let conductor = Conductor {
            recipe: self.recipe,
            control: Arc::clone(&control),
            board: Arc::clone(&board),
            clock,
            events,
            engine,
            effective: self.effective,
            endpoint: self.endpoint,
            limit: self.limit.map_or(Reason::Ios, |(_, reason)| reason),
            epilogue: self.epilogue,
        };
        let notice = Arc::clone(&board);
        let spawned = std::thread::Builder::new().name("strata-conductor".to_owned()).spawn(move || {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| conductor.conduct()));
            notice.finish(result.unwrap_or_else(|_| Err(Error::Bug("the conductor panicked".to_owned()))));
        });
        if let Err(e) = spawned {
            control.abandon();
            return Err(Error::system("cannot start the conductor thread", e));
        }
        Ok(Run { control, board, now_ns: Box::new(move || clock.now_ns()) })
    }
}

impl Run {
    /// The intervals finished since the last call: a JSON list.
    #[must_use]
    pub fn poll(&self) -> String {
        self.board.poll()
    }

    /// Ask for a clean end; what was measured so far is the result.
    pub fn stop(&self) {
        self.control.stop(Reason::Stopped, (self.now_ns)());
    }

    /// Wait up to `timeout` for the result as JSON.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<std::result::Result<String, Arc<Error>>> {
        self.board.wait(timeout)
    }

    /// The result as JSON, when there is one.
    #[must_use]
    pub fn result(&self) -> Option<std::result::Result<String, Arc<Error>>> {
        self.board.result()
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("control", &self.control).finish_non_exhaustive()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.stop();
    }
}
