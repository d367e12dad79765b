//! The thread that opens the gate, collects what the workers say, and makes the result.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use strata_io::Awaited;

use crate::clock::{Clock, Monotonic};
use crate::control::{Control, Reason};
use crate::cpu::Usage;
use crate::error::{Error, Result};
use crate::instants::{Instants, Setting};
use crate::lease::Lease;
use crate::merge::Merger;
use crate::outcome::{Effective, EngineInfo, Interval};
use crate::report::{self, Facts};
use crate::urgent::URGENT_NS;
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
    /// How long after the instant at which it was to start the last thread was ready.
    pub late_ns: u64,
    /// Looked at between two events.
    pub lease: Option<Arc<Lease>>,
}

impl<C: Clock> Collector<C> {
    /// Open the gate and see the run through.
    pub fn collect_all(mut self) -> Result<String> {
        let unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let setting = Setting::new(&self.clock);
        let now_ns = self.clock.now_ns();
        let start_ns = self.recipe.start_at_ns.map_or(now_ns, |at_ns| setting.to_run(at_ns));
        let started_unix_ns = unix_ns.saturating_add_signed(start_ns.wrapping_sub(now_ns).cast_signed());
        let ramp_end_ns = start_ns + self.recipe.ramp_ns;
        let control = Arc::clone(&self.control);
        let _leading = self.recipe.start_at_ns.map(|_| control.urgent.lead());
        let mut urgent_ns = self.recipe.start_at_ns.map(|_| start_ns + URGENT_NS);
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
            let mut wait = Duration::from_nanos(next_ns.saturating_sub(now_ns)).min(Duration::from_secs(1));
            if let Some(until_ns) = urgent_ns {
                if now_ns >= until_ns {
                    self.control.urgent.lower_all();
                    urgent_ns = None;
                } else {
                    wait = wait.min(Duration::from_nanos(until_ns - now_ns));
                }
            }
            if let Some(lease) = self.lease.as_ref().filter(|_| now_ns < self.control.end_ns()) {
                let left_ns = lease.left_ns(Monotonic.now_ns());
                if left_ns == 0 {
                    self.control.stop(Reason::Lease, now_ns);
                    continue;
                }
                wait = wait.min(Duration::from_nanos(left_ns));
            }
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
        let line = setting.closed(&self.clock);
        let told = |ns| line.kernel_ns(ns);
        let first = reports.iter().map(|r| r.tally.first_ns).filter(|&ns| ns > 0);
        let facts = Facts {
            engine: self.engine,
            effective: self.effective,
            started_unix_ns,
            instants: Instants {
                start_at_ns: self.recipe.start_at_ns,
                late_ns: self.late_ns,
                first_io_ns: first.clone().min().map(told),
                last_first_io_ns: first.max().map(told),
                measured_from_ns: told(ramp_end_ns),
                measured_to_ns: told(end_ns.max(ramp_end_ns)),
            },
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
        let stuck = self.control.slot_table(thread).stuck(now_ns);
        Report { stuck, ..Report::idle(thread, &self.recipe, &self.control) }
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
