//! The loop's view of a schedule: two types, so that the closed loop carries nothing of the open one.

use strata_pace::{Due, Schedule};

/// Says whether the next I/O is due.
pub trait Pace {
    /// Whether I/Os have an intended start of their own.
    const OPEN: bool;

    /// Whether the next I/O is due `elapsed_ns` after the start of the run.
    fn due(&self, elapsed_ns: u64) -> Due;

    /// Go on to the one after it.
    fn advance(&mut self, bits: impl FnOnce() -> u64);
}

/// As fast as slots get free.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closed;

impl Pace for Closed {
    const OPEN: bool = false;

    #[inline]
    fn due(&self, elapsed_ns: u64) -> Due {
        Due::Now { intended_ns: elapsed_ns }
    }

    #[inline]
    fn advance(&mut self, _bits: impl FnOnce() -> u64) {}
}

/// As a schedule says; what is late stays due.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    schedule: Schedule,
    hits: u64,
    start_ns: f64,
}

impl Open {
    /// Begin `schedule`; `bits` is its first random number.
    #[must_use]
    pub fn new(schedule: Schedule, bits: u64) -> Self {
        Self { schedule, hits: 0, start_ns: schedule.start_ns(0, 0.0, bits) }
    }
}

impl Pace for Open {
    const OPEN: bool = true;

    #[inline]
    fn due(&self, elapsed_ns: u64) -> Due {
        strata_pace::due(self.start_ns, elapsed_ns)
    }

    #[inline]
    fn advance(&mut self, bits: impl FnOnce() -> u64) {
        self.hits += 1;
        self.start_ns = self.schedule.start_ns(self.hits, self.start_ns, bits());
    }
}
