//! From a backend to running threads, and the handle on them.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use strata_io::{Outcome, Queue};

use crate::clock::{self, Clock, Monotonic};
use crate::collector::{Collector, Epilogue, RunStatus};
use crate::control::{Control, Reason};
use crate::error::{Error, Result};
use crate::lease::Lease;
use crate::outcome::{BuildInfo, ClockInfo, Effective, EngineInfo};
use crate::tsc::Tsc;
use crate::worker::{self, Made, Recipe};

/// A run in progress or done. Dropping it asks the run to stop.
pub struct Run {
    control: Arc<Control>,
    status: Arc<RunStatus>,
    /// Ramp and interval in ns.
    spans: (u64, u64),
    lease: Option<Arc<Lease>>,
    /// The run's own clock: instants of two clocks cannot be compared to the ns.
    now_ns: Box<dyn Fn() -> u64 + Send + Sync>,
}

/// What a backend knows when it is ready to make queues.
#[derive(Clone)]
pub(crate) struct Launch {
    pub recipe: Recipe,
    pub effective: Effective,
    /// The endpoint's name, for messages.
    pub endpoint: String,
    pub build: BuildInfo,
    pub limit: Option<(u64, Reason)>,
    pub epilogue: Option<Epilogue>,
}

impl Launch {
    /// Start the threads, wait until each has the queue that `factory` makes it, and let them go. `kind` is what carries
    /// the I/Os, and `fallback_reason` why it is not the one that is tried first.
    pub fn go<Q: Queue + 'static>(
        self,
        kind: &'static str,
        fallback_reason: Option<String>,
        factory: impl Fn(u32) -> Result<Made<Q>> + Send + Sync + 'static,
    ) -> Result<Run> {
        match Tsc::calibrated() {
            Some(clock) => self.go_by(clock, kind, fallback_reason, factory),
            None => self.go_by(Monotonic, kind, fallback_reason, factory),
        }
    }

    fn go_by<Q: Queue + 'static, C: Clock + Copy + Send + Sync + 'static>(
        self,
        clock: C,
        kind: &'static str,
        fallback_reason: Option<String>,
        factory: impl Fn(u32) -> Result<Made<Q>> + Send + Sync + 'static,
    ) -> Result<Run> {
        let (resolution_ns, read_cost_ns) = clock::measure(&clock);
        let control =
            Arc::new(Control::new(self.limit.map(|(n, _)| n), self.recipe.threads, self.recipe.depth));
        let status = Arc::new(RunStatus::default());
        let (ready, readiness) = mpsc::channel();
        let (tell, events) = mpsc::channel();
        let (recipe, factory) = (Arc::new(self.recipe.clone()), Arc::new(factory));
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
        let late_ns = match self.late_ns() {
            Ok(late_ns) => late_ns,
            Err(e) => {
                control.abandon();
                return Err(e);
            }
        };
        let lease = self.recipe.lease_ns.map(|length_ns| Arc::new(Lease::new(length_ns, Monotonic.now_ns())));
        let engine = EngineInfo {
            kind,
            setup,
            fallback_reason,
            build: self.build,
            clock: ClockInfo { kind: C::KIND, resolution_ns, read_cost_ns },
        };
        let collector = Collector {
            recipe: self.recipe,
            control: Arc::clone(&control),
            status: Arc::clone(&status),
            clock,
            events,
            engine,
            effective: self.effective,
            endpoint: self.endpoint,
            limit: self.limit.map_or(Reason::Ios, |(_, reason)| reason),
            epilogue: self.epilogue,
            late_ns,
            lease: lease.clone(),
        };
        let notice = Arc::clone(&status);
        let spans = (collector.recipe.ramp_ns, collector.recipe.interval_ns);
        let spawned = std::thread::Builder::new().name("strata-collector".to_owned()).spawn(move || {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| collector.collect_all()));
            notice
                .result
                .finish(result.unwrap_or_else(|_| Err(Error::bug("engine", "the collector panicked"))));
        });
        if let Err(e) = spawned {
            control.abandon();
            return Err(Error::system("cannot start the collector thread", e));
        }
        Ok(Run { control, status, spans, lease, now_ns: Box::new(move || clock.now_ns()) })
    }

    /// How long ago the run was to start, now that all threads are ready. Within the ramp that changes nothing that is
    /// counted; beyond it what is measured would not be what was asked.
    fn late_ns(&self) -> Result<u64> {
        let late_ns = self.recipe.start_at_ns.map_or(0, |at_ns| Monotonic.now_ns().saturating_sub(at_ns));
        if late_ns <= self.recipe.ramp_ns {
            return Ok(late_ns);
        }
        let (late, ramp) = (late_ns as f64 / 1e6, self.recipe.ramp_ns as f64 / 1e6);
        let what = format!(
            "cannot start at the requested instant: it was ready {late:.3} ms after it, and the ramp lasts {ramp} ms"
        );
        Err(Error::system(what, std::io::Error::from_raw_os_error(libc::ETIME)))
    }
}

impl Run {
    /// The intervals finished since the last call: a JSON list.
    #[must_use]
    pub fn poll(&self) -> String {
        self.status.poll()
    }

    /// Ask for a clean end; what was measured so far is the result.
    pub fn stop(&self) {
        self.control.stop(Reason::Stopped, (self.now_ns)());
    }

    /// From now on what is in flight at the end is waited for only while answers come.
    pub fn shorten_drain(&self) {
        self.control.shorten_drain();
    }

    /// Ask for an end with the interval that is running, so that every interval of the result is whole.
    pub fn stop_with_interval(&self) {
        let (ramp_ns, interval_ns) = self.spans;
        self.control.stop_with_interval((self.now_ns)(), ramp_ns, interval_ns);
    }

    /// Begin the lease anew, unless it is over; whether the run goes on. Without a lease there is nothing to renew.
    #[must_use]
    pub fn renew(&self) -> bool {
        self.lease.as_ref().is_none_or(|lease| lease.renew(Monotonic.now_ns()))
    }

    /// Wait up to `timeout` for the result as JSON; with none: the result when there is one.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<Outcome<Error>> {
        self.status.result.wait(timeout)
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

#[cfg(test)]
mod tests {
    use std::io;

    use strata_io::{Completion, Io};
    use strata_pattern::{BlockMap, Mix, Order, Pattern, Segment};

    use super::*;
    use crate::worker::BufferFill;

    /// Hands over one I/O and never comes back from the second.
    #[derive(Default)]
    struct Hanging {
        buffer: Vec<u8>,
        pushed: Vec<Completion>,
        done: Vec<Completion>,
        handed: u32,
    }

    impl Queue for Hanging {
        fn buffer(&mut self, _slot: u32) -> &mut [u8] {
            &mut self.buffer
        }
        fn push(&mut self, slot: u32, io: Io) {
            self.pushed.push(Completion { slot, result: io.len() as i32 });
        }
        fn submit(&mut self, _wait: u32, _timeout: Option<Duration>) -> io::Result<()> {
            self.handed += self.pushed.len() as u32;
            if self.handed > 1 {
                loop {
                    std::thread::park();
                }
            }
            self.done.append(&mut self.pushed);
            Ok(())
        }
        fn reap(&mut self, f: impl FnMut(Completion)) -> usize {
            let n = self.done.len();
            self.done.drain(..).for_each(f);
            n
        }
    }

    #[test]
    fn a_call_that_never_returns_is_told_and_does_not_hang_the_run() {
        let map = BlockMap::new(&[Segment { start: 0, length: 512, target: 1024 }], 512).expect("a block");
        let pattern = Pattern::new(map, Order::Random, Mix::Read, 1);
        let recipe = Recipe {
            pattern,
            threads: 2,
            depth: 1,
            batch: 1,
            runtime_ns: 1_000_000_000,
            stop_on_error: false,
            fill_buffer: BufferFill::Stamp,
            drain_ns: 5_000_000,
            ..crate::fill::recipe(1024, 1, 512).expect("a block")
        };
        let launch = Launch {
            recipe,
            effective: Effective::plain(1, 512),
            endpoint: "test".to_owned(),
            build: BuildInfo::default(),
            limit: None,
            epilogue: None,
        };
        let queue = || Hanging { buffer: vec![0; 512], ..Hanging::default() };
        let made = move |_| Ok(Made { queue: queue(), setup: vec![] });
        let run = launch.go("null", None, made).expect("threads");
        let result = run.wait(Duration::from_secs(600)).expect("it ends").expect("with a result");
        let result: serde_json::Value = serde_json::from_str(&result).expect("JSON");
        assert_eq!(result["stop_reason"], "stuck");
        assert_eq!(
            (&result["issued"], &result["completed"], &result["stuck"]),
            (&4.into(), &2.into(), &2.into())
        );
        let stuck = &result["stuck_ios"][1];
        assert_eq!(
            (&stuck["thread"], &stuck["op"], &stuck["offset"]),
            (&1.into(), &"read".into(), &1024.into())
        );
        assert!(stuck["age_ns"].as_u64().expect("a number") >= 15_000_000);
        let message = result["message"].as_str().expect("words");
        assert!(message.contains("test: an I/O of 512 bytes at byte 1024 did not complete"), "{message}");
    }
}
