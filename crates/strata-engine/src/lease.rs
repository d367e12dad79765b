//! The dead-man limit: a run that nobody renews stops by itself.
//!
//! It is looked at by the collector, never by the load loop, and needs nothing of the process but that its threads run:
//! a Python that hangs with its lock held renews nothing and hinders nothing.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Until when a run may go on, on `CLOCK_MONOTONIC`.
#[derive(Debug)]
pub struct Lease {
    length_ns: u64,
    until_ns: AtomicU64,
}

impl Lease {
    /// It runs from `now_ns` on.
    #[must_use]
    pub fn new(length_ns: u64, now_ns: u64) -> Self {
        Self { length_ns, until_ns: AtomicU64::new(now_ns.saturating_add(length_ns)) }
    }

    /// Begin it anew, unless it is over: what has ended is not brought back. Whether it was.
    pub fn renew(&self, now_ns: u64) -> bool {
        let until_ns = now_ns.saturating_add(self.length_ns);
        self.until_ns.fetch_update(Relaxed, Relaxed, |end_ns| (now_ns < end_ns).then_some(until_ns)).is_ok()
    }

    /// How long it still runs; 0 when it is over.
    #[must_use]
    pub fn left_ns(&self, now_ns: u64) -> u64 {
        self.until_ns.load(Relaxed).saturating_sub(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_when_nobody_renewed_it_in_time_and_stays_over() {
        let lease = Lease::new(100, 1_000);
        assert_eq!((lease.left_ns(1_000), lease.left_ns(1_099), lease.left_ns(1_100)), (100, 1, 0));
        assert!(lease.renew(1_099));
        assert_eq!((lease.left_ns(1_198), lease.left_ns(1_199)), (1, 0));
        assert!(!lease.renew(1_199));
        assert_eq!(lease.left_ns(1_199), 0);
        assert!(Lease::new(u64::MAX, 5).renew(7), "a length beyond all clocks never ends");
    }
}
