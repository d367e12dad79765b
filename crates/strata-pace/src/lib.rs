//! When the next I/O is meant to start: a pure schedule, without a clock and without chance of its own.
//!
//! All times are ns since the start of the run. Instants are computed in `f64` from the number of the I/O (or,
//! for Poisson, summed in `f64`) and rounded only when handed out, so no rounding adds up: at 53 bits, a day of
//! schedule is exact to a hundredth of a ns for each step.
#![forbid(unsafe_code)]

mod throttle;

pub use throttle::{Limits, Throttle};

/// One thread's share of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Mean time between two starts, in ns.
    gap_ns: f64,
    /// Intended start of the first I/O, in ns.
    first_ns: f64,
    /// Starts that share an instant.
    burst: u64,
    poisson: bool,
}

/// What the schedule says now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Start now: it was meant to start at `intended_ns`, which has come.
    Now {
        /// Intended start in ns since the start of the run.
        intended_ns: u64,
    },
    /// Nothing is due for another `wait_ns`.
    After {
        /// Time until the next intended start, in ns; above 0.
        wait_ns: u64,
    },
}

impl Schedule {
    /// The share of thread `thread` of `threads` in a total of `iops` evenly spaced starts a second. The
    /// threads take turns, so all of them together are evenly spaced too.
    #[must_use]
    pub fn constant(iops: f64, thread: u32, threads: u32) -> Self {
        let total_gap_ns = 1e9 / iops;
        Self {
            gap_ns: total_gap_ns * f64::from(threads),
            first_ns: total_gap_ns * f64::from(thread),
            burst: 1,
            poisson: false,
        }
    }

    /// A thread's share of a Poisson process of `iops` a second (the sum of Poisson processes is one): gaps are
    /// independent and exponential.
    #[must_use]
    pub fn poisson(iops: f64, threads: u32) -> Self {
        Self { gap_ns: 1e9 / iops * f64::from(threads), first_ns: 0.0, burst: 1, poisson: true }
    }

    /// The same rate in bursts: `burst` (at least 1) starts share an instant.
    #[must_use]
    pub fn in_bursts(self, burst: u32) -> Self {
        Self { burst: u64::from(burst.max(1)), ..self }
    }

    /// Intended start in ns of I/O number `hits` (the first is 0). `previous_ns` is the start of the one before
    /// (0 for the first) and `uniform` gives a random number; they are used by Poisson only.
    #[must_use]
    #[inline]
    pub fn start_ns(&self, hits: u64, previous_ns: f64, uniform: impl FnOnce() -> u64) -> f64 {
        let within = if self.burst == 1 { 0 } else { hits % self.burst };
        if !self.poisson {
            return self.first_ns + (hits - within) as f64 * self.gap_ns;
        }
        if within > 0 {
            return previous_ns;
        }
        previous_ns + self.gap_ns * self.burst as f64 * exponential(uniform())
    }
}

/// Whether an I/O meant for `start_ns` is due after `elapsed_ns`.
#[must_use]
#[inline]
pub fn due(start_ns: f64, elapsed_ns: u64) -> Due {
    // Rounded up: never early.
    let start = start_ns.ceil() as u64;
    if start <= elapsed_ns {
        Due::Now { intended_ns: start }
    } else {
        Due::After { wait_ns: start - elapsed_ns }
    }
}

/// Exponential with mean 1 from 64 random bits: −ln(u), u uniform in (0, 1].
fn exponential(uniform: u64) -> f64 {
    let u = ((uniform >> 11) + 1) as f64 / (1u64 << 53) as f64;
    -u.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_table() {
        // (iops, thread, threads, number, intended start in ns)
        for (iops, thread, threads, number, start) in [
            (1000.0, 0, 1, 0, 0),
            (1000.0, 0, 1, 1, 1_000_000),
            (1000.0, 1, 2, 0, 1_000_000),
            (1000.0, 1, 2, 3, 7_000_000),
            (3.0, 0, 1, 1, 333_333_334),
            (3.0, 0, 1, 3, 1_000_000_000),
            (0.5, 0, 1, 2, 4_000_000_000),
            // A gap that is no whole number of ns: after a million there is no drift at all.
            (300_000.0, 0, 1, 300_000_000, 1_000_000_000_000),
        ] {
            let got = Schedule::constant(iops, thread, threads).start_ns(number, 0.0, || 0);
            assert_eq!(due(got, 0).at(0), start, "{iops} {thread}/{threads} #{number}");
        }
    }

    impl Due {
        fn at(self, elapsed_ns: u64) -> u64 {
            match self {
                Due::Now { intended_ns } => intended_ns,
                Due::After { wait_ns } => elapsed_ns + wait_ns,
            }
        }
    }

    #[test]
    fn due_table() {
        for (start, elapsed, expected) in [
            (0.0, 0, Due::Now { intended_ns: 0 }),
            (99.5, 99, Due::After { wait_ns: 1 }),
            (99.5, 100, Due::Now { intended_ns: 100 }),
            // Late by a lot: the intended start stays, nothing is skipped.
            (100.0, 9_000_000_000, Due::Now { intended_ns: 100 }),
            (1e9, 1, Due::After { wait_ns: 999_999_999 }),
        ] {
            assert_eq!(due(start, elapsed), expected, "{start} after {elapsed}");
        }
    }

    #[test]
    fn threads_together_are_evenly_spaced() {
        let mut all: Vec<f64> = (0..3)
            .flat_map(|thread| {
                (0..100).map(move |n| Schedule::constant(7_000.0, thread, 3).start_ns(n, 0.0, || 0))
            })
            .collect();
        all.sort_by(f64::total_cmp);
        for (number, start) in all.iter().enumerate() {
            assert!((start - number as f64 * 1e9 / 7_000.0).abs() < 1e-3);
        }
    }

    /// Weyl sequence: evenly spread "random" numbers, so the mean of the gaps is known without luck.
    #[test]
    fn poisson_keeps_its_rate_and_its_shape() {
        for iops in [1_000.0, 200_000.0] {
            let (mut start, mut uniform, mut beyond_mean) = (0.0, 0u64, 0);
            let n = 200_000;
            for hit in 0..n {
                uniform = uniform.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let next = Schedule::poisson(iops, 1).start_ns(hit, start, || uniform);
                beyond_mean += u32::from(next - start > 1e9 / iops);
                start = next;
            }
            let rate = n as f64 * 1e9 / start;
            assert!((rate / iops - 1.0).abs() < 1e-3, "asked {iops}, got {rate}");
            // P(gap > mean) = 1/e.
            assert!((f64::from(beyond_mean) / n as f64 - (-1f64).exp()).abs() < 1e-3);
        }
    }

    #[test]
    fn bursts_share_an_instant_and_keep_the_rate() {
        let even = Schedule::constant(1000.0, 0, 1).in_bursts(3);
        let starts: Vec<f64> = (0..7).map(|n| even.start_ns(n, 0.0, || 0) / 1e6).collect();
        assert_eq!(starts, [0.0, 0.0, 0.0, 3.0, 3.0, 3.0, 6.0]);
        let (mut start, mut uniform, mut instants) = (0.0, 0u64, 0);
        for hit in 0..200_000 {
            uniform = uniform.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let next = Schedule::poisson(1000.0, 1).in_bursts(5).start_ns(hit, start, || uniform);
            instants += u32::from(next > start);
            start = next;
        }
        assert_eq!(instants, 40_000);
        assert!((start / 200e9 - 1.0).abs() < 0.02, "{start}");
    }

    #[test]
    fn the_extremes_of_chance_are_finite() {
        assert_eq!(exponential(u64::MAX), 0.0);
        assert!(exponential(0) < 37.0);
    }
}
