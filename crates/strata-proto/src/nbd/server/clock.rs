//! Waiting for an instant, precisely.

use std::time::{Duration, Instant};

/// The longest busy wait before an instant, in nanoseconds: about what a timer overshoots by.
pub(super) const SPIN_NS: u64 = 20_000;

/// Nanoseconds since the server's start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: Instant,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { start: Instant::now() }
    }

    /// Now.
    pub(super) fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Sleep until shortly before `due_ns`, spin the rest (at most [`SPIN_NS`]).
    pub(super) fn sleep_until(&self, due_ns: u64) {
        loop {
            let left = due_ns.saturating_sub(self.now_ns());
            if left == 0 {
                return;
            }
            if left > SPIN_NS {
                std::thread::sleep(Duration::from_nanos(left - SPIN_NS));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// Ask the kernel not to round this thread's timers (50 µs is the default). Best effort: without
/// it delays are later, never earlier.
pub(super) fn precise_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours.
    let _best_effort = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}
