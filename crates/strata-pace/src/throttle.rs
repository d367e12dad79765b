//! A closed loop that is held back: a ceiling on its rate, and pauses between bursts.

use crate::Due;

/// What a missed start may be made up for, in ns: enough to ride out a wake-up that came late, too little to
/// let a stall of the target be followed by a burst above the ceiling.
const CATCH_UP_NS: f64 = 10e6;

/// A ceiling and pauses, for one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Time that each I/O uses up of the ceiling, in ns; 0 without a ceiling on IOPS.
    pub ns_per_io: f64,
    /// Time that each byte uses up of the ceiling, in ns; 0 without a ceiling on bytes.
    pub ns_per_byte: f64,
    /// I/Os of a burst, after which the thread thinks; 0: it never does.
    pub burst: u32,
    /// How long it thinks once all of the burst are done, in ns.
    pub think_ns: u64,
}

/// Says when the next I/O of a thread under [`Limits`] may start. All times are ns since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    limits: Limits,
    /// Earliest start under the ceiling.
    next_ns: f64,
    /// I/Os left of the burst.
    left: u32,
    /// End of the pause that is running.
    resume_ns: Option<u64>,
}

impl Throttle {
    /// From the start of the run on.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, next_ns: 0.0, left: limits.burst, resume_ns: None }
    }

    /// Whether the next I/O may start after `elapsed_ns`, while `in_flight` are in flight.
    #[inline]
    pub fn due(&mut self, elapsed_ns: u64, in_flight: u32) -> Due {
        if self.limits.burst > 0 && self.left == 0 {
            match self.resume_ns {
                // The pause begins when the burst is done; until then only a completion can change anything.
                None if in_flight > 0 => return Due::After { wait_ns: u64::MAX },
                None => {
                    self.resume_ns = Some(elapsed_ns + self.limits.think_ns);
                    return Due::After { wait_ns: self.limits.think_ns.max(1) };
                }
                Some(resume_ns) if resume_ns > elapsed_ns => {
                    return Due::After { wait_ns: resume_ns - elapsed_ns };
                }
                Some(_) => (self.left, self.resume_ns) = (self.limits.burst, None),
            }
        }
        self.next_ns = self.next_ns.max(elapsed_ns as f64 - CATCH_UP_NS);
        match crate::due(self.next_ns, elapsed_ns) {
            // Not meant for any instant before it could start.
            Due::Now { .. } => Due::Now { intended_ns: elapsed_ns },
            wait @ Due::After { .. } => wait,
        }
    }

    /// An I/O of `bytes` was started.
    #[inline]
    pub fn started(&mut self, bytes: u32) {
        self.left = self.left.saturating_sub(1);
        // Whichever ceiling is lower holds it back.
        self.next_ns += self.limits.ns_per_io.max(f64::from(bytes) * self.limits.ns_per_byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Start instants of `n` I/Os of 4096 bytes that each take `takes_ns`, one at a time.
    fn starts(limits: Limits, takes_ns: u64, n: usize) -> Vec<u64> {
        let (mut throttle, mut now, mut starts) = (Throttle::new(limits), 0, vec![]);
        while starts.len() < n {
            match throttle.due(now, 0) {
                Due::After { wait_ns } => now += wait_ns,
                Due::Now { intended_ns } => {
                    assert_eq!(intended_ns, now);
                    throttle.started(4096);
                    starts.push(now);
                    now += takes_ns;
                }
            }
        }
        starts
    }

    #[test]
    fn a_ceiling_on_ios_and_on_bytes() {
        let per_ms = Limits { ns_per_io: 1e6, ..Limits::default() };
        assert_eq!(starts(per_ms, 10, 4), [0, MS, 2 * MS, 3 * MS]);
        // Slower than the ceiling: it changes nothing.
        assert_eq!(starts(per_ms, 5 * MS, 3), [0, 5 * MS, 10 * MS]);
        // 4096 bytes at 4.096 MB/s are a ms; the lower of two ceilings holds.
        let bytes = Limits { ns_per_byte: 1e6 / 4096.0, ns_per_io: 5e5, ..Limits::default() };
        assert_eq!(starts(bytes, 10, 3), [0, MS, 2 * MS]);
    }

    #[test]
    fn little_is_made_up_for_and_no_more() {
        let mut throttle = Throttle::new(Limits { ns_per_io: 1e6, ..Limits::default() });
        throttle.started(1);
        // A second late: ten starts at once, then one a ms.
        let mut n = 0;
        while let Due::Now { .. } = throttle.due(1000 * MS, 0) {
            throttle.started(1);
            n += 1;
        }
        assert_eq!((n, throttle.due(1000 * MS, 0)), (11, Due::After { wait_ns: MS }));
    }

    #[test]
    fn thinking_begins_when_the_burst_is_done() {
        let limits = Limits { burst: 2, think_ns: 7 * MS, ..Limits::default() };
        assert_eq!(starts(limits, MS, 5), [0, MS, 9 * MS, 10 * MS, 18 * MS]);
        let mut throttle = Throttle::new(limits);
        throttle.started(1);
        throttle.started(1);
        assert_eq!(throttle.due(3 * MS, 1), Due::After { wait_ns: u64::MAX });
        assert_eq!(throttle.due(4 * MS, 0), Due::After { wait_ns: 7 * MS });
        assert_eq!(throttle.due(11 * MS, 0), Due::Now { intended_ns: 11 * MS });
    }
}
