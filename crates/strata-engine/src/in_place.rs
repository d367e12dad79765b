//! The cycle of a thread that does its I/Os itself, one after the other: the same instants as in [`crate::load`], and
//! nothing of slots, batches and waiting. The submit call is the I/O, so `submit_latency` samples the service time.

use std::io;
use std::time::Duration;

use strata_io::{Op, Queue};
use strata_pace::Due;
use strata_pattern::{AHEAD, Io};

use crate::clock::Clock;
use crate::load::{Failure, Last, Load, Marks, TICK_NS};
use crate::pace::Pace;
use crate::record::Sink;

/// The last of some I/Os, back and not yet counted.
struct Seen {
    io: Io,
    issue_ns: u64,
    seen_ns: u64,
    result: i32,
}

impl<Q, C, P, S, W, M> Load<'_, Q, C, P, S, W, M>
where
    Q: Queue,
    C: Clock,
    P: Pace,
    S: Sink,
    W: FnMut(&mut [u8]),
    M: Marks,
{
    /// As [`Self::cycle`].
    pub(crate) fn cycle_in_place(&mut self, last: &mut Last) -> io::Result<()> {
        let (start_ns, most) = (self.plan.start_ns, u64::from(self.plan.batch));
        let mut now_ns = self.clock.now_ns();
        let mut allowance = u64::MAX;
        let mut times_ns = [0; AHEAD];
        // The first I/O is drawn alone, so that its instant is known.
        let mut ahead = 1;
        if now_ns >= self.recorder.next_ns() {
            self.roll_in_place(now_ns, 0, &mut allowance);
        }
        loop {
            let intended_ns = match self.pace.due(now_ns.saturating_sub(start_ns), 0) {
                Due::Now { intended_ns } => start_ns + intended_ns,
                Due::After { wait_ns } => {
                    self.queue.submit(1, Some(Duration::from_nanos(wait_ns.min(TICK_NS))))?;
                    now_ns = self.clock.now_ns();
                    if now_ns >= self.control.end_ns() {
                        return Ok(());
                    }
                    if now_ns >= self.recorder.next_ns() {
                        self.roll_in_place(now_ns, 0, &mut allowance);
                    }
                    continue;
                }
            };
            if allowance == 0 {
                allowance = self.control.take(most);
                if allowance == 0 {
                    last.end_ns = now_ns;
                    return Ok(());
                }
            }
            // In a closed loop all that is drawn is due; else one at a time.
            let most_now = if P::ALWAYS { allowance.min(ahead) as usize } else { 1 };
            let (n, Seen { io, issue_ns, seen_ns, result }) = self.carry(most_now, &mut times_ns);
            if self.recorder.first_ns == 0 {
                self.recorder.first_ns = issue_ns;
                ahead = AHEAD as u64;
            }
            allowance -= n as u64;
            now_ns = seen_ns;
            let over = now_ns >= self.control.end_ns();
            if now_ns >= self.recorder.next_ns() && !over {
                self.roll_in_place(now_ns, 1, &mut allowance);
            }
            let measuring = self.recorder.measuring() && !over;
            if P::OPEN && measuring {
                self.recorder.lag.record(issue_ns.saturating_sub(intended_ns));
            }
            if result == io.len() as i32 {
                self.slot_table.completed(1);
                if measuring {
                    self.recorder.done(io.op(), io.len(), now_ns - issue_ns, 1);
                    self.recorder.counted(now_ns);
                    if P::OPEN {
                        self.recorder.lane(io.op()).response.record(now_ns - intended_ns);
                    }
                    // One of those that were drawn together: the submit call is the I/O.
                    self.recorder.lane(io.op()).submit.record(now_ns - issue_ns);
                }
            } else {
                let failure = Failure { op: io.op(), offset: io.offset(), result };
                let (recorder, control, stop) = (&mut *self.recorder, self.control, self.plan.stop_on_error);
                failure.count(recorder, self.slot_table, control, last, stop, measuring, now_ns);
            }
            if over {
                return Ok(());
            }
        }
    }

    /// Carry out I/Os that differ in their offset alone, up to `most` of them, and count all but the last: those that came
    /// back well within the interval that is open. The last one is the caller's to count. Returns how many there were.
    #[inline]
    fn carry(&mut self, most: usize, times_ns: &mut [u64; AHEAD]) -> (usize, Seen) {
        if self.access.ahead(most)[0].op() == Op::Read {
            self.carry_alike::<true>(most, times_ns)
        } else {
            self.carry_alike::<false>(most, times_ns)
        }
    }

    /// Reads have a copy of their own, which knows nothing of writing; it is what the length of this path is measured by.
    /// Service times are gathered in `times_ns` and counted together.
    #[inline(never)]
    fn carry_alike<const READS: bool>(&mut self, most: usize, times_ns: &mut [u64; AHEAD]) -> (usize, Seen) {
        let ios = self.access.ahead(most);
        let (shape, slot, control) = (ios[0], &self.slot_table.slots()[0], self.control);
        let (len, writes) = (shape.len(), shape.op() == Op::Write);
        let next_ns = if self.recorder.measuring() { self.recorder.next_ns() } else { 0 };
        // SAFETY: called in this function alone, where the queue is borrowed, and never within `fill_buffer`.
        let transfer = unsafe { self.queue.prepare_transfers::<READS>(shape) };
        let mut rest = ios[1..].iter().zip(times_ns.iter_mut());
        let (mut io, mut n) = (shape, 1);
        slot.take(io);
        self.slot_table.issued(1);
        let last = loop {
            if !READS && writes {
                (self.fill_buffer)(&mut self.queue.buffer(0)[..len as usize]);
            }
            let issue_ns = self.clock.now_ns();
            slot.issue(issue_ns);
            let result = transfer(io.offset());
            let seen_ns = self.clock.now_ns();
            if result == len as i32
                && seen_ns < next_ns
                && seen_ns < control.end_ns()
                && let Some((&following, time_ns)) = rest.next()
                && following.is_like(shape)
            {
                *time_ns = seen_ns - issue_ns;
                slot.replace(following);
                self.slot_table.passed();
                (io, n) = (following, n + 1);
            } else {
                let (mut seen_ns, mut result) = (seen_ns, result);
                while result == -libc::EINTR {
                    result = transfer(io.offset());
                    seen_ns = self.clock.now_ns();
                }
                break Seen { io, issue_ns, seen_ns, result };
            }
        };
        slot.clear();
        self.recorder.lane(shape.op()).done_all(len, &times_ns[..n - 1]);
        self.access.used(n);
        for _ in 0..n {
            self.pace.advance(len);
        }
        (n, last)
    }

    /// Close what ended by `now_ns`, while `in_flight` I/Os are still to be counted; where the number of I/Os is limited, from
    /// the end of the ramp on they must be asked for.
    #[cold]
    fn roll_in_place(&mut self, now_ns: u64, in_flight: u64, allowance: &mut u64) {
        if self.recorder.roll(now_ns) {
            self.marks.measuring();
            if self.control.limited() {
                *allowance = 0;
                let _ = self.control.take(in_flight);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use strata_pace::{Limits, Schedule, Throttle};
    use strata_pattern::{Mix, Rng};

    use crate::control::{Control, Reason};
    use crate::pace::{Closed, Open, Pace};
    use crate::scripted::{BLOCK, FakeClock, InPlace, Played, SETTING, Setting, play_on};

    const MS: u64 = 1_000_000;
    const WELL: i32 = BLOCK as i32;

    fn run<P: Pace>(
        setting: Setting,
        pace: P,
        limit: Option<u64>,
        script: fn(u64, u64) -> (u64, i32),
    ) -> Played {
        let clock = FakeClock::default();
        clock.pass(777);
        let control = Rc::new(Control::new(limit, 1, 1));
        let played = play_on(setting, pace, &control, InPlace::new(&clock, script), clock);
        assert_eq!(played.tally.stuck, 0);
        played
    }

    #[test]
    fn the_ramp_and_the_last_one_are_not_counted_and_intervals_are_cut_where_they_end() {
        let setting = Setting { ramp_ns: 100 * MS, runtime_ns: 50 * MS, interval_ns: 20 * MS, ..SETTING };
        // 4 ms each: the one that is seen as the ramp ends counts, the one that is seen at the end does not.
        let played = run(setting, Closed, None, |_, _| (4 * MS, WELL));
        let ops: Vec<u64> = played.intervals.iter().map(|i| i.read.ops).collect();
        assert_eq!(ops, [5, 5, 3]);
        assert_eq!(played.tally.completed, 38);
        let service = &played.merger.totals[0].service;
        assert_eq!((service.count(), service.max_ns()), (13, Some(4 * MS)));
    }

    #[test]
    fn a_signal_does_not_fail_a_read_and_its_time_counts() {
        let played = run(SETTING, Closed, None, |n, _| (MS, if n == 500 { -libc::EINTR } else { WELL }));
        assert_eq!((played.merger.totals[0].ops, played.merger.totals[0].errors), (998, 0));
        assert_eq!(played.merger.totals[0].service.max_ns(), Some(2 * MS));
    }

    #[test]
    fn making_the_data_is_not_the_ios_time() {
        let setting = Setting { mix: Mix::Write, fill_ns: 7 * MS, ..SETTING };
        let played = run(setting, Closed, None, |_, _| (3 * MS, WELL));
        let service = &played.merger.totals[1].service;
        assert_eq!((service.count(), service.max_ns()), (99, Some(3 * MS)));
        assert_eq!(played.tally.first_ns, 777 + 7 * MS);
    }

    #[test]
    fn a_limit_is_met_exactly() {
        let played = run(SETTING, Closed, Some(150), |_, _| (MS, WELL));
        assert_eq!((played.merger.totals[0].ops, played.tally.issued), (150, 150));
        let setting = Setting { ramp_ns: 10 * MS, ..SETTING };
        let played = run(setting, Closed, Some(70), |_, _| (MS, WELL));
        assert_eq!((played.merger.totals[0].ops, played.tally.issued), (70, 79));
    }

    #[test]
    fn failures_are_told_by_kind_and_a_full_target_ends_the_run() {
        let script = |n: u64, _| (MS, [WELL, -libc::EIO, 512][(n % 3) as usize]);
        let played = run(SETTING, Closed, None, script);
        assert_eq!((played.merger.totals[0].ops, played.merger.totals[0].errors), (333, 666));
        let kinds: Vec<i32> = played.recorder.lanes[0].failures.iter().map(|f| f.errno).collect();
        assert_eq!(kinds, [libc::EIO, 0]);
        let played = run(SETTING, Closed, None, |n, _| (MS, if n < 100 { WELL } else { -libc::ENOSPC }));
        assert_eq!((played.merger.totals[0].ops, played.control.why()), (100, Some(Reason::Error)));
    }

    #[test]
    fn an_open_loop_counts_a_stall_from_the_intended_start() {
        let setting = Setting { runtime_ns: 10_000 * MS, ..SETTING };
        let pace = Open::new(Schedule::constant(1000.0, 0, 1), Rng::new(1, 1));
        let played = run(setting, pace, None, |n, _| (if n == 2000 { 1000 * MS } else { MS / 10 }, WELL));
        let response = &played.recorder.lanes[0].response;
        assert_eq!((played.merger.totals[0].ops, response.count()), (10_000, 10_000));
        let p99 = response.quantile_ns(0.99).expect("not empty");
        assert!((850 * MS..1001 * MS).contains(&p99), "{p99}");
        assert_eq!(played.recorder.lag.max_ns(), Some(999 * MS));
    }

    #[test]
    fn a_ceiling_holds_back() {
        let ceiling = Throttle::new(Limits { ns_per_io: 4e6, ..Limits::default() });
        let played = run(SETTING, ceiling, None, |_, _| (MS, WELL));
        assert_eq!((played.merger.totals[0].ops, played.recorder.lag.count()), (250, 0));
    }
}
