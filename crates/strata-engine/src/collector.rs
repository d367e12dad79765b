//! The thread that opens the gate, collects what the workers say, and makes the result.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use strata_hist::Histogram;
use strata_io::Awaited;

use crate::clock::Clock;
use crate::control::{Control, Reason};
use crate::cpu::Usage;
use crate::error::{Error, Result};
use crate::load::Tally;
use crate::merge::Merger;
use crate::outcome::{Effective, EngineInfo, Interval};
use crate::place::Placement;
use crate::report::{self, Facts};
use crate::worker::{Event, Recipe, Report};

/// Done after the last thread has finished, before the result is given out.
pub type Epilogue = Arc<dyn Fn(Reason) -> Result<()> + Send + Sync>;

/// How long a thread may take to report after its drain, in ns.
const GRACE_NS: u64 = 1_000_000_000;

/// What the holder of a run can see.
#[derive(Debug, Default)]
pub struct RunStatus {
    intervals: Mutex<Vec<Interval>>,
    polled: AtomicUsize,
    /// Comes when the run is over.
    pub result: Awaited<Error>,
}

impl RunStatus {
    fn lock(&self) -> MutexGuard<'_, Vec<Interval>> {
        self.intervals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The intervals finished since the last call, as JSON.
    pub fn poll(&self) -> String {
        let all = self.lock();
        let from = self.polled.swap(all.len(), Ordering::Relaxed);
        serde_json::to_string(&all[from..]).unwrap_or_else(|_| "[]".to_owned())
    }
}

/// All that the collector needs.
pub struct Collector<C> {
    pub recipe: Recipe,
    pub control: Arc<Control>,
    pub status: Arc<RunStatus>,
    pub clock: C,
    pub events: Receiver<Event>,
    pub engine: EngineInfo,
    pub effective: Effective,
    /// The endpoint's name, for messages.
    pub endpoint: String,
    /// Why the run ends when it runs out of I/Os.
    pub limit: Reason,
    pub epilogue: Option<Epilogue>,
}

impl<C: Clock> Collector<C> {
    /// Open the gate and see the run through.
    pub fn collect_all(mut self) -> Result<String> {
        let started_unix_ns =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let start_ns = self.clock.now_ns();
        let ramp_end_ns = start_ns + self.recipe.ramp_ns;
        self.control.open_gate(start_ns, ramp_end_ns + self.recipe.runtime_ns);

        let (mut merger, mut reports) =
            (Merger::new(self.recipe.threads, self.recipe.interval_ns), Vec::<Report>::new());
        let (mut begun, mut used) = (None::<Usage>, None::<Usage>);
        let mut lost = None;
        let mut running = self.recipe.threads;
        while running > 0 {
            let now_ns = self.clock.now_ns();
            if begun.is_none() && now_ns >= ramp_end_ns {
                begun = Some(Usage::process());
            }
            let given_up_ns = self.control.end_ns().saturating_add(self.recipe.drain_ns + GRACE_NS);
            if now_ns >= given_up_ns {
                let reported: Vec<u32> = reports.iter().map(|r| r.thread).collect();
                reports.extend(
                    (0..self.recipe.threads).filter(|t| !reported.contains(t)).map(|t| self.hung(t, now_ns)),
                );
                (0..self.recipe.threads).for_each(|thread| merger.finish(thread));
                self.status.lock().extend(merger.complete());
                break;
            }
            let next_ns = if begun.is_none() { ramp_end_ns } else { given_up_ns };
            // The end may be brought forward at any time, so it is looked at again.
            let wait = Duration::from_nanos(next_ns.saturating_sub(now_ns)).min(Duration::from_secs(1));
            let event = match self.events.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => continue,
                other => other.ok(),
            };
            match event {
                Some(Event::Part(part)) => merger.add(&part),
                Some(Event::Ended) => {
                    used.get_or_insert_with(Usage::process);
                    begun.get_or_insert_with(Usage::process);
                }
                Some(Event::Finished(report)) => {
                    running -= 1;
                    merger.finish(report.thread);
                    reports.push(*report);
                }
                Some(Event::Panicked(thread, text)) => {
                    running -= 1;
                    merger.finish(thread);
                    self.control.stop(Reason::Error, self.clock.now_ns());
                    lost = Some(Error::bug("engine", text));
                }
                None => break,
            }
            self.status.lock().extend(merger.complete());
        }
        if let Some(lost) = lost {
            return Err(lost);
        }
        reports.sort_by_key(|report| report.thread);
        let stop_reason = self.reason(&reports);
        if let Some(epilogue) = self.epilogue.take() {
            epilogue(stop_reason)?;
        }
        let end_ns = reports.iter().map(|r| r.tally.end_ns).max().unwrap_or(ramp_end_ns);
        if let Some(drift) = self.clock.drift_ppm() {
            self.engine.setup.push(format!("clock_drift_ppm={drift:.1}"));
        }
        let (begun, used) = (begun.unwrap_or_default(), used.unwrap_or_default());
        let facts = Facts {
            engine: self.engine,
            effective: self.effective,
            started_unix_ns,
            ramp_ns: self.recipe.ramp_ns,
            measured_ns: end_ns.saturating_sub(ramp_end_ns),
            stop_reason,
            endpoint: self.endpoint,
            open_loop: self.recipe.rate.is_some(),
            cpu: used.since(&begun),
            intervals: self.status.lock().clone(),
        };
        let outcome = report::outcome(facts, &merger, &reports);
        serde_json::to_string(&outcome)
            .map_err(|e| Error::bug("engine", format_args!("the result cannot be written: {e}")))
    }

    /// What can be said of a thread that sits in a call which does not return. The thread itself is given up.
    fn hung(&self, thread: u32, now_ns: u64) -> Report {
        let slot_table = self.control.slot_table(thread);
        let tally = Tally { end_ns: self.control.end_ns(), ..slot_table.tally() };
        Report {
            thread,
            tally,
            stuck: slot_table.stuck(now_ns),
            lanes: Vec::new(),
            lag: Histogram::new(),
            usage: Usage::default(),
            pinned: self.recipe.pin.as_ref().map(|p| p.of(thread).to_vec()),
            placement: Placement::default(),
            transport: Ok(()),
        }
    }

    fn reason(&self, reports: &[Report]) -> Reason {
        let lost_transport = reports.iter().any(|r| r.transport.is_err());
        let all_ended_early = reports.iter().all(|r| r.tally.end_ns < self.control.end_ns());
        match self.control.why() {
            _ if reports.iter().any(|r| r.tally.stuck > 0) => Reason::Stuck,
            _ if lost_transport => Reason::Error,
            Some(why) => why,
            None if self.control.limited() && all_ended_early => self.limit,
            None => Reason::Runtime,
        }
    }
}
