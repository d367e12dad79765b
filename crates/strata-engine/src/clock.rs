//! Clocks. All of them speak ns of `CLOCK_MONOTONIC`, so instants of different threads can be compared.

/// A source of instants.
pub trait Clock: Clone {
    /// What it is called in a result.
    const KIND: &'static str = "fake";

    /// Now, in ns.
    fn now_ns(&self) -> u64;

    /// How far it is ahead of the kernel's clock now, in ns; below 0: behind.
    fn ahead_ns(&self) -> i64 {
        0
    }

    /// How far it has run away from the kernel's clock, in parts per million; `None` when it is the kernel's.
    fn drift_ppm(&self) -> Option<f64> {
        None
    }
}

/// The kernel's monotonic clock, read through the vDSO.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    const KIND: &'static str = "monotonic";

    #[inline]
    fn now_ns(&self) -> u64 {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes one timespec to a valid address; CLOCK_MONOTONIC always exists.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut t) };
        t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
    }
}

/// Smallest step seen and mean cost of one reading, in ns, from a short burst of readings.
#[must_use]
pub fn measure<C: Clock>(clock: &C) -> (u64, u64) {
    const READINGS: u64 = 1000;
    let first = clock.now_ns();
    let (mut last, mut step) = (first, u64::MAX);
    for _ in 0..READINGS {
        let now = clock.now_ns();
        if now > last {
            step = step.min(now - last);
        }
        last = now;
    }
    // The step cannot be told below the cost of a reading; say what was seen.
    (if step == u64::MAX { 0 } else { step }, (last - first) / READINGS)
}
