//! The thread that opens the gate, collects what the workers say, and makes the result.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::clock::Clock;
use crate::control::{Control, Reason};
use crate::cpu::Usage;
use crate::error::{Error, Result};
use crate::merge::Merger;
use crate::outcome::{Effective, EngineInfo, Interval};
use crate::report::{self, Facts};
use crate::worker::{Event, Recipe, Report};

/// Done after the last thread has finished, before the result is given out.
pub type Epilogue = Arc<dyn Fn(Reason) -> Result<()> + Send + Sync>;

/// What the holder of a run can see.
#[derive(Debug, Default)]
pub struct Board {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    all: Vec<Interval>,
    polled: usize,
    result: Option<std::result::Result<String, Arc<Error>>>,
}

impl Board {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, intervals: Vec<Interval>) {
        self.lock().all.extend(intervals);
    }

    /// The intervals finished since the last call, as JSON.
    pub fn poll(&self) -> String {
        let mut state = self.lock();
        let until = state.all.len();
        let from = std::mem::replace(&mut state.polled, until);
        serde_json::to_string(&state.all[from..]).unwrap_or_else(|_| "[]".to_owned())
    }

    /// The result, when there is one.
    pub fn result(&self) -> Option<std::result::Result<String, Arc<Error>>> {
        self.lock().result.clone()
    }

    /// Wait up to `timeout` for the result.
    pub fn wait(&self, timeout: Duration) -> Option<std::result::Result<String, Arc<Error>>> {
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, |s| s.result.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.result.clone()
    }

    pub fn finish(&self, result: Result<String>) {
        self.lock().result = Some(result.map_err(Arc::new));
        self.changed.notify_all();
    }
}

/// All that the conductor needs.
pub struct Conductor<C> {
    pub recipe: Recipe,
    pub control: Arc<Control>,
    pub board: Arc<Board>,
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

impl<C: Clock> Conductor<C> {
    /// Open the gate and see the run through.
    pub fn conduct(mut self) -> Result<String> {
        let started_unix_ns =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let start_ns = self.clock.now_ns();
        let ramp_end_ns = start_ns + self.recipe.ramp_ns;
        self.control.open_gate(start_ns, ramp_end_ns + self.recipe.runtime_ns);

        let (mut merger, mut reports) = (
            Merger::new(self.recipe.threads, self.recipe.interval_ns, u64::from(self.recipe.block_bytes)),
            Vec::<Report>::new(),
        );
        let (mut begun, mut used) = (None::<Usage>, None::<Usage>);
        let mut lost = None;
        let mut running = self.recipe.threads;
        while running > 0 {
            let event = if begun.is_none() {
                let left = Duration::from_nanos(ramp_end_ns.saturating_sub(self.clock.now_ns()));
                match self.events.recv_timeout(left) {
                    Err(RecvTimeoutError::Timeout) => {
                        begun = Some(Usage::process());
                        continue;
                    }
                    other => other.ok(),
                }
            } else {
                self.events.recv().ok()
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
                    lost = Some(Error::Bug(text));
                }
                None => break,
            }
            self.board.publish(merger.complete());
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
            block_bytes: u64::from(self.recipe.block_bytes),
            open_loop: self.recipe.rate.is_some(),
            cpu: used.since(&begun),
            intervals: self.board.lock().all.clone(),
        };
        let outcome = report::outcome(facts, &merger, &reports);
        serde_json::to_string(&outcome).map_err(|e| Error::Bug(format!("the result cannot be written: {e}")))
    }

    fn reason(&self, reports: &[Report]) -> Reason {
        let lost_carrier = reports.iter().any(|r| r.carrier.is_err());
        let all_ended_early = reports.iter().all(|r| r.tally.end_ns < self.control.end_ns());
        match self.control.why() {
            _ if reports.iter().any(|r| r.tally.stuck > 0) => Reason::Stuck,
            _ if lost_carrier => Reason::Error,
            Some(why) => why,
            None if self.control.limited() && all_ended_early => self.limit,
            None => Reason::Runtime,
        }
    }
}
