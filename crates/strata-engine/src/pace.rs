//! The loop's view of when the next I/O starts: types, so that each loop carries nothing of the others.

use strata_pace::{Due, Schedule, Throttle};
use strata_pattern::Rng;

/// Says whether the next I/O is due.
pub trait Pace {
    /// Whether I/Os have an intended start of their own.
    const OPEN: bool;
    /// Whether every I/O is due as soon as it can be.
    const ALWAYS: bool = false;

    /// Whether the next I/O is due `elapsed_ns` after the start of the run, while `in_flight` are in flight.
    fn due(&mut self, elapsed_ns: u64, in_flight: u32) -> Due;

    /// An I/O of `bytes` was taken; go on to the one after it.
    fn advance(&mut self, bytes: u32);
}

/// As fast as slots get free.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closed;

impl Pace for Closed {
    const OPEN: bool = false;
    const ALWAYS: bool = true;

    #[inline]
    fn due(&mut self, elapsed_ns: u64, _in_flight: u32) -> Due {
        Due::Now { intended_ns: elapsed_ns }
    }

    #[inline]
    fn advance(&mut self, _bytes: u32) {}
}

/// As slots get free, under a ceiling and with pauses.
impl Pace for Throttle {
    const OPEN: bool = false;

    #[inline]
    fn due(&mut self, elapsed_ns: u64, in_flight: u32) -> Due {
        Throttle::due(self, elapsed_ns, in_flight)
    }

    #[inline]
    fn advance(&mut self, bytes: u32) {
        self.started(bytes);
    }
}

/// As a schedule says; what is late stays due.
#[derive(Clone, Debug)]
pub struct Open {
    schedule: Schedule,
    rng: Rng,
    hits: u64,
    start_ns: f64,
}

impl Open {
    /// Begin `schedule`, with chance from `rng`.
    #[must_use]
    pub fn new(schedule: Schedule, mut rng: Rng) -> Self {
        let start_ns = schedule.start_ns(0, 0.0, || rng.bits());
        Self { schedule, rng, hits: 0, start_ns }
    }
}

impl Pace for Open {
    const OPEN: bool = true;

    #[inline]
    fn due(&mut self, elapsed_ns: u64, _in_flight: u32) -> Due {
        strata_pace::due(self.start_ns, elapsed_ns)
    }

    #[inline]
    fn advance(&mut self, _bytes: u32) {
        self.hits += 1;
        let rng = &mut self.rng;
        self.start_ns = self.schedule.start_ns(self.hits, self.start_ns, || rng.bits());
    }
}
