//! What the threads of a run share: when it ends, why, how many I/Os are left, and the books of each.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::slot_table::SlotTable;
use crate::urgent::Urgent;

/// The end of the wait for the start, in which the clock is looked at all the time, in ns: about what waking up takes.
const SPIN_NS: u64 = 5_000;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The runtime was over.
    Runtime,
    /// It was asked to.
    Stopped,
    /// `stop_after.ios` was reached.
    Ios,
    /// `stop_after.bytes` was reached.
    Bytes,
    /// An I/O failed and that ends the run, or the transport failed.
    Error,
    /// I/Os did not come back.
    Stuck,
    /// Nobody renewed its lease in time.
    Lease,
}

/// Whether the threads may begin.
#[derive(Clone, Copy, Debug)]
enum Gate {
    Shut,
    Open { start_ns: u64 },
    Abandoned,
}

/// Shared by the threads of one run. In the loop it costs one plain load of [`Self::end_ns`] a cycle (and, under
/// `stop_after` alone, an addition for each I/O).
#[derive(Debug)]
pub struct Control {
    end_ns: AtomicU64,
    why: Mutex<Option<Reason>>,
    gate: Mutex<Gate>,
    gate_moved: Condvar,
    tickets: Option<AtomicU64>,
    drain_shortened: AtomicBool,
    slot_tables: Box<[SlotTable]>,
    /// Threads of a run that begins at an instant it was told.
    pub(crate) urgent: Urgent,
}

impl Control {
    /// A run of `threads` with `depth` slots each that ends on its own after `limit` I/Os, or never.
    #[must_use]
    pub fn new(limit: Option<u64>, threads: u32, depth: u32) -> Self {
        Self {
            end_ns: AtomicU64::new(u64::MAX),
            why: Mutex::new(None),
            gate: Mutex::new(Gate::Shut),
            gate_moved: Condvar::new(),
            tickets: limit.map(AtomicU64::new),
            drain_shortened: AtomicBool::new(false),
            slot_tables: (0..threads).map(|_| SlotTable::new(depth)).collect(),
            urgent: Urgent::default(),
        }
    }

    /// The books of a thread.
    #[must_use]
    pub fn slot_table(&self, thread: u32) -> &SlotTable {
        &self.slot_tables[thread as usize]
    }

    /// Instant at which measuring ends, in ns.
    #[inline]
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.end_ns.load(Relaxed)
    }

    /// End at `now_ns` for `reason`, unless the run has ended by then.
    pub fn stop(&self, reason: Reason, now_ns: u64) {
        let mut why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        if why.is_none() && now_ns < self.end_ns() {
            *why = Some(reason);
            self.end_ns.store(now_ns, Relaxed);
            // Whoever waits for the start looks at the end with this lock held, so none of them misses it.
            drop(self.gate.lock());
            self.gate_moved.notify_all();
        }
    }

    /// End with the interval that is running at `now_ns`; the first begins at `ramp_end_ns` of the run's start.
    pub fn stop_with_interval(&self, now_ns: u64, ramp_ns: u64, interval_ns: u64) {
        let gate = *self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let Gate::Open { start_ns } = gate else { return };
        if now_ns < start_ns {
            return self.stop(Reason::Stopped, now_ns);
        }
        let first_ns = start_ns + ramp_ns;
        let begun = now_ns.saturating_sub(first_ns) / interval_ns;
        self.stop(Reason::Stopped, first_ns + (begun + 1) * interval_ns);
    }

    /// What is in flight at the end is not waited for as long as it takes any more, only while answers come.
    pub fn shorten_drain(&self) {
        self.drain_shortened.store(true, Relaxed);
    }

    /// Whether somebody is in a shorten_drain. Not for the loop.
    #[must_use]
    pub fn drain_shortened(&self) -> bool {
        self.drain_shortened.load(Relaxed)
    }

    /// Why the run was stopped; `None` when nothing but time or tickets ended it.
    #[must_use]
    pub fn why(&self) -> Option<Reason> {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the number of I/Os is limited.
    #[must_use]
    pub fn limited(&self) -> bool {
        self.tickets.is_some()
    }

    /// Take up to `want` of the I/Os that are left.
    #[must_use]
    pub fn take(&self, want: u64) -> u64 {
        let Some(tickets) = &self.tickets else { return want };
        let left =
            tickets.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(want))).unwrap_or(0);
        left.min(want)
    }

    /// Let the threads begin at `start_ns`, to end by `end_ns`.
    pub fn open_gate(&self, start_ns: u64, end_ns: u64) {
        self.end_ns.fetch_min(end_ns, Relaxed);
        self.move_gate(Gate::Open { start_ns });
    }

    /// Let the threads go without a run.
    pub fn abandon(&self) {
        self.move_gate(Gate::Abandoned);
    }

    fn move_gate(&self, to: Gate) {
        *self.gate.lock().unwrap_or_else(PoisonError::into_inner) = to;
        self.gate_moved.notify_all();
    }

    /// Wait for the gate: the start of the run in ns, or `None` when it was abandoned.
    #[must_use]
    pub fn await_gate(&self) -> Option<u64> {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *gate {
                Gate::Shut => gate = self.gate_moved.wait(gate).unwrap_or_else(PoisonError::into_inner),
                Gate::Open { start_ns } => return Some(start_ns),
                Gate::Abandoned => return None,
            }
        }
    }

    /// Wait for the start of the run: asleep, and awake for the last moment of it, as waking up takes long and not always
    /// equally long. False when the run was stopped before.
    #[must_use]
    pub fn await_start(&self, clock: &impl Clock, start_ns: u64) -> bool {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left_ns = start_ns.saturating_sub(clock.now_ns());
            if left_ns <= SPIN_NS || self.end_ns() < start_ns {
                break;
            }
            let asleep = Duration::from_nanos(left_ns - SPIN_NS);
            gate = self.gate_moved.wait_timeout(gate, asleep).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(gate);
        while self.end_ns() >= start_ns && clock.now_ns() < start_ns {
            std::hint::spin_loop();
        }
        self.end_ns() >= start_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Monotonic;

    #[test]
    fn the_first_reason_wins_and_nothing_ends_late() {
        let control = Control::new(Some(10), 1, 1);
        control.open_gate(100, 1_000);
        control.stop(Reason::Stopped, 2_000);
        assert_eq!((control.end_ns(), control.why()), (1_000, None));
        control.stop(Reason::Error, 500);
        control.stop(Reason::Stopped, 400);
        assert_eq!((control.end_ns(), control.why()), (500, Some(Reason::Error)));
        let control = Control::new(None, 1, 1);
        control.open_gate(100, 1_000);
        control.stop_with_interval(270, 50, 60);
        assert_eq!((control.end_ns(), control.why()), (330, Some(Reason::Stopped)));
        let control = Control::new(Some(10), 1, 1);
        assert_eq!((control.take(8), control.take(8), control.take(8)), (8, 2, 0));
        assert_eq!(Control::new(None, 1, 1).take(7), 7);
    }

    #[test]
    fn the_start_is_waited_for_and_a_stop_ends_the_wait() {
        let control = Control::new(None, 1, 1);
        let start_ns = Monotonic.now_ns() + 20_000_000;
        control.open_gate(start_ns, start_ns + 1_000_000_000);
        assert!(control.await_start(&Monotonic, start_ns));
        assert!(Monotonic.now_ns() >= start_ns);
        let far_ns = Monotonic.now_ns() + 3_600_000_000_000;
        let control = Control::new(None, 1, 1);
        control.open_gate(far_ns, far_ns + 1);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| control.await_start(&Monotonic, far_ns));
            std::thread::sleep(Duration::from_millis(5));
            control.stop_with_interval(Monotonic.now_ns(), 0, 1);
            assert!(!waiting.join().expect("no panic"));
        });
    }
}
