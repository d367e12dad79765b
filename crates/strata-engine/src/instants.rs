//! When a run began and was measured, on the clock that other processes of the machine have too.

use serde::Serialize;

use crate::clock::{Clock, Monotonic};

/// Instants of a run, in ns of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Instants {
    /// When it was to start; `null` when it was not told.
    pub start_at_ns: Option<u64>,
    /// How long after that its threads were ready; 0 when they were in time.
    pub late_ns: u64,
    /// The first I/O of the thread that was first; `null` without one.
    pub first_io_ns: Option<u64>,
    /// The first I/O of the thread that was last.
    pub last_first_io_ns: Option<u64>,
    /// The end of the ramp: from here on I/Os are counted, and intervals too.
    pub measured_from_ns: u64,
    /// The end of the last interval.
    pub measured_to_ns: u64,
}

/// How a run's own clock stands to the kernel's, from two readings of both.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Instant of the first reading on the kernel's clock, and how far the run's was ahead of it.
    first: (u64, i64),
}

impl Setting {
    /// Read now.
    pub fn new(clock: &impl Clock) -> Self {
        let ahead_ns = clock.ahead_ns();
        Self { first: (Monotonic.now_ns(), ahead_ns) }
    }

    /// An instant of the kernel's clock on the run's, as it stood at the first reading.
    pub fn to_run(self, kernel_ns: u64) -> u64 {
        kernel_ns.saturating_add_signed(self.first.1)
    }

    /// Read again, now: what lies between the two readings can be told on the kernel's clock.
    pub fn closed(self, clock: &impl Clock) -> Line {
        let (began_ns, ahead_ns) = self.first;
        Line { began_ns, ahead_ns, ended_ns: Monotonic.now_ns(), ahead_at_end_ns: clock.ahead_ns() }
    }
}

/// The line through two readings.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    began_ns: u64,
    ahead_ns: i64,
    ended_ns: u64,
    ahead_at_end_ns: i64,
}

impl Line {
    /// An instant of the run's clock on the kernel's.
    pub fn kernel_ns(&self, run_ns: u64) -> u64 {
        let gained_ns = (self.ahead_at_end_ns - self.ahead_ns) as f64;
        let slope = gained_ns / (self.ended_ns.saturating_sub(self.began_ns).max(1)) as f64;
        let at_ns = run_ns.saturating_add_signed(-self.ahead_ns);
        let since_ns = at_ns as f64 - self.began_ns as f64;
        at_ns.saturating_add_signed(-((since_ns * slope).round() as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_runs_clock_gained_is_taken_off_by_its_share() {
        // 100 ns ahead at the start, 1100 ns ahead a second later.
        let line =
            Line { began_ns: 5_000_000_000, ahead_ns: 100, ended_ns: 6_000_000_000, ahead_at_end_ns: 1_100 };
        let kernel = |ns| line.kernel_ns(ns);
        assert_eq!(kernel(5_000_000_100), 5_000_000_000);
        assert_eq!(kernel(5_500_000_600), 5_500_000_000);
        assert_eq!(kernel(6_000_001_100), 6_000_000_000);
    }

    #[test]
    fn the_kernels_own_clock_is_left_as_it_is() {
        let setting = Setting::new(&Monotonic);
        assert_eq!(setting.to_run(77), 77);
        assert_eq!(setting.closed(&Monotonic).kernel_ns(1_234), 1_234);
    }
}
