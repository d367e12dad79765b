//! The processor's time-stamp counter as a clock: a third of the cost of asking the kernel's.
//!
//! Used only where the kernel itself keeps time by it (`current_clocksource` is `tsc`), which it does only when
//! the counter is invariant and the same on all processors. It is set against `CLOCK_MONOTONIC` over at least
//! 20 ms, with the tightest of many bracketed readings at both ends; the ratio of the first reading in the
//! process's life to the latest serves each new run, so it sharpens with time. The drift that a run has seen is
//! part of its result.

use std::sync::OnceLock;
use std::time::Duration;

use crate::clock::{Clock, Monotonic};

const BASELINE_NS: u64 = 20_000_000;
const TRIES: u32 = 50;
/// Bits behind the point of the ratio. All of a word: the product's upper half is the result, without a shift. A counter
/// slower than 1 GHz has no such ratio and is not used.
const SHIFT: u32 = 64;

/// Converts counts to ns of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug)]
pub struct Tsc {
    /// Of count 0; modulo 2^64.
    base_ns: u64,
    /// ns for each count, times 2^[`SHIFT`].
    ratio: u64,
    /// When its ratio began to be taken.
    since_ns: u64,
}

/// One instant on both clocks.
#[derive(Clone, Copy, Debug)]
struct Pair {
    count: u64,
    ns: u64,
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn count() -> u64 {
    // SAFETY: every x86_64 has the instruction; where a kernel forbids it, its clock source is not the counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn count() -> u64 {
    0
}

fn pair() -> Pair {
    let bracket = || {
        let before = count();
        let ns = Monotonic.now_ns();
        let after = count();
        (after.wrapping_sub(before), Pair { count: before + after.wrapping_sub(before) / 2, ns })
    };
    let mut best = bracket();
    for _ in 1..TRIES {
        let next = bracket();
        // An interrupt between the readings widens the bracket; the narrowest has none.
        if next.0 < best.0 {
            best = next;
        }
    }
    best.1
}

fn trusted() -> bool {
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    cfg!(target_arch = "x86_64") && source.is_ok_and(|name| name.trim() == "tsc")
}

impl Tsc {
    /// Set against the kernel's clock; `None` where the counter cannot be trusted. Sleeps up to 20 ms, once.
    #[must_use]
    pub fn calibrated() -> Option<Self> {
        static FIRST: OnceLock<Pair> = OnceLock::new();
        if !trusted() {
            return None;
        }
        let first = *FIRST.get_or_init(pair);
        let passed_ns = Monotonic.now_ns().saturating_sub(first.ns);
        std::thread::sleep(Duration::from_nanos(BASELINE_NS.saturating_sub(passed_ns)));
        Self::from_pairs(first, pair())
    }

    fn from_pairs(first: Pair, last: Pair) -> Option<Self> {
        let counts = last.count.checked_sub(first.count).filter(|&n| n > 0)?;
        let ns = last.ns.checked_sub(first.ns)?;
        let ratio = u64::try_from((u128::from(ns) << SHIFT) / u128::from(counts)).ok()?;
        let clock = Self { base_ns: 0, ratio, since_ns: first.ns };
        (ratio > 0).then_some(Self { base_ns: last.ns.wrapping_sub(clock.ns_of(last.count)), ..clock })
    }

    #[inline]
    fn ns_of(&self, count: u64) -> u64 {
        self.base_ns.wrapping_add(((u128::from(count) * u128::from(self.ratio)) >> SHIFT) as u64)
    }

    /// How far this clock has run away from the kernel's since it was set, in parts per million.
    #[must_use]
    pub fn drift_ppm(&self) -> f64 {
        let now = pair();
        let passed_ns = now.ns.saturating_sub(self.since_ns);
        if passed_ns == 0 { 0.0 } else { self.ahead_of(now) as f64 / passed_ns as f64 * 1e6 }
    }

    fn ahead_of(&self, now: Pair) -> i64 {
        self.ns_of(now.count).wrapping_sub(now.ns).cast_signed()
    }
}

impl Clock for Tsc {
    const KIND: &'static str = "tsc";

    #[inline]
    fn now_ns(&self) -> u64 {
        self.ns_of(count())
    }

    fn ahead_ns(&self) -> i64 {
        self.ahead_of(pair())
    }

    fn drift_ppm(&self) -> Option<f64> {
        Some(Self::drift_ppm(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_by_hand() {
        // 2.5 GHz: 0.4 ns a count; an hour later the error is what 64 bits leave.
        let first = Pair { count: 1_000, ns: 50 };
        let last = Pair { count: 1_000 + 2_500_000_000, ns: 50 + 1_000_000_000 };
        let tsc = Tsc::from_pairs(first, last).expect("a clock");
        assert_eq!(tsc.ns_of(last.count), last.ns);
        assert!(tsc.ns_of(first.count).abs_diff(first.ns) <= 1);
        let hour = tsc.ns_of(last.count + 3600 * 2_500_000_000) - last.ns;
        assert!(3_600_000_000_000 - hour < 10, "{hour}");
        assert!(Tsc::from_pairs(first, first).is_none());
        let later = Pair { count: last.count, ns: last.ns - 70 };
        assert_eq!((tsc.ahead_of(last), tsc.ahead_of(later)), (0, 70));
    }

    #[test]
    fn it_keeps_to_the_kernels_clock() {
        let Some(tsc) = Tsc::calibrated() else {
            println!("SKIPPED the counter: the kernel does not keep time by it");
            return;
        };
        let (mut last, base) = (0, Monotonic.now_ns());
        for _ in 0..1000 {
            let now = tsc.now_ns();
            assert!(now >= last);
            last = now;
        }
        // Taken one after the other: between the kernel's readings, up to calibration (0.1 % of the time passed).
        let after = Monotonic.now_ns();
        assert!(
            last + 20_000 > base && last < after + 20_000 + (after - base) / 1000,
            "{base} {last} {after}"
        );
    }
}
