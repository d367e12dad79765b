//! Waiting for an instant, precisely.

use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::set_current_timer_slack;

/// The longest busy wait before an instant, in nanoseconds: about what a timer overshoots by.
pub(super) const SPIN_NS: u64 = 20_000;

/// How often a thread that waits for clients looks whether it should stop.
pub(super) const TICK: Duration = Duration::from_millis(50);

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
    let _best_effort = set_current_timer_slack(Some(NonZeroU64::MIN));
}

/// Whether a client waits at `listener`; waits for one, at most one tick.
pub(super) fn readable(listener: &impl AsFd) -> bool {
    let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
    poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&tick)).is_ok_and(|ready| ready > 0)
}
