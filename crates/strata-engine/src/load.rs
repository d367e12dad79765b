//! The load loop: the only place where an I/O is timed.
//!
//! # Timing model
//!
//! Instants of one I/O, all read from the thread's clock:
//!
//! | name | read |
//! |---|---|
//! | `intended` | not read: the schedule's own value (open loop only) |
//! | `issue` | once for a batch, after its offsets are drawn and its write data stamped, right before it is put into the queue and handed over |
//! | `handed` | right after that call returned; in 1 of 64 submissions, which are split into handing over and waiting |
//! | `seen` | once after each submit or wait, before its completions are taken |
//!
//! - **submit_latency** = `handed` − `issue`, of the sampled batches, one value for a batch, in the direction of
//!   its first I/O. Where submitting does the I/O (blocking calls at depth 1, cached data) this *is* the I/O.
//! - **service_time** = `seen` − `issue`. Contains the submit call, the kernel, the device, and the time the
//!   completion lay until this thread looked. An I/O handed over late in a batch starts a little after `issue`.
//! - **response_time** = `seen` − `intended`. Adds the time the I/O waited for a free slot or for this thread.
//! - **lag** = `issue` − `intended`.
//!
//! *Not* included anywhere: making and stamping write data (before `issue`), drawing offsets, recording (after
//! `seen`), checking what was read (not done). In the closed loop there is no intended start and no response time.
//!
//! An I/O counts in the interval that `seen` falls into, when that is at or after the end of the ramp and before
//! the end of the run, wherever it was issued.

use std::io;
use std::time::Duration;

use strata_io::{Completion, Op, Queue};
use strata_pace::Due;
use strata_pattern::Access;

use crate::clock::Clock;
use crate::control::{Control, Reason};
use crate::pace::Pace;
use crate::record::{Recorder, Sink};
use crate::slot_table::{IoKind, SlotTable, Stuck};

/// Longest wait without a look at the end of the run, in ns.
pub(crate) const TICK_NS: u64 = 100_000_000;
/// One submission in this many is split to time the submit call alone.
pub(crate) const SAMPLE_EVERY: u64 = 64;

/// In a shorten_drain, how long the next answer of those in flight at the end is waited for, in ns.
const SHORT_DRAIN_NS: u64 = 700_000_000;

/// What a thread does, decided before it begins.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Slots.
    pub depth: u32,
    /// Most I/Os handed over at once.
    pub batch: u32,
    /// Start of the run, in ns.
    pub start_ns: u64,
    /// A failed I/O ends the run.
    pub stop_on_error: bool,
    /// How long to wait for what is in flight at the end, in ns.
    pub drain_ns: u64,
}

/// What became of all I/Os of a thread, ramp and drain included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Handed over.
    pub issued: u64,
    /// Came back well.
    pub completed: u64,
    /// Came back failed, or were lost with their transport.
    pub errored: u64,
    /// Never came back.
    pub stuck: u64,
    /// Instant at which counting ended, in ns.
    pub end_ns: u64,
    /// Instant at which the first I/O was handed over, in ns; 0 without one.
    pub first_ns: u64,
    /// The failed I/O that ended the run, also when that was within the ramp: errno and offset.
    pub fatal: Option<(i32, u64)>,
}

/// How a thread ended.
#[derive(Debug)]
pub struct Ended {
    /// What became of its I/Os.
    pub tally: Tally,
    /// Those that never came back.
    pub stuck: Vec<Stuck>,
    /// Whether the transport held; when it failed, the tally says what was lost with it.
    pub transport: io::Result<()>,
}

/// The moments at which a thread's own cost is read.
pub trait Marks {
    /// The ramp is over.
    fn measuring(&mut self);
    /// Counting has ended; what is in flight is still to be drained.
    fn ended(&mut self);
}

/// Everything one thread works with.
pub struct Load<'a, Q, C, P, S: Sink, W, M> {
    /// Carries the I/Os.
    pub queue: &'a mut Q,
    /// Tells the time.
    pub clock: C,
    /// When.
    pub pace: P,
    /// Where.
    pub access: Access,
    /// Makes the data of a write, before its issue is stamped.
    pub fill_buffer: W,
    /// What is in flight, with as many slots as [`Plan::depth`] says.
    pub slot_table: &'a SlotTable,
    /// Counts.
    pub recorder: &'a mut Recorder<S>,
    /// Shared with the other threads.
    pub control: &'a Control,
    /// Told when counting begins and ends.
    pub marks: M,
    /// Decided before.
    pub plan: Plan,
}

/// The slots that are free, as a stack: those of the batch that is being made are the ones just above its top.
struct Free {
    slots: Box<[u32]>,
    top: usize,
}

impl Free {
    #[inline]
    fn back(&mut self, slot: u32) {
        self.slots[self.top] = slot;
        self.top += 1;
    }
}

/// I/Os of one kind that were handed over at one instant.
struct Alike {
    kind: IoKind,
    issue_ns: u64,
    /// How many; 0 before the first.
    n: u64,
}

impl Alike {
    #[inline]
    fn differs(&self, kind: IoKind, issue_ns: u64) -> bool {
        // One branch for both: it is taken once a batch.
        (self.issue_ns ^ issue_ns) | self.kind.difference(kind) != 0
    }

    #[inline]
    fn count<S: Sink>(&self, recorder: &mut Recorder<S>, now_ns: u64) {
        if self.n > 0 {
            recorder.done(self.kind.op(), self.kind.bytes(), now_ns - self.issue_ns, self.n);
        }
    }
}

/// An I/O that came back otherwise than asked.
pub(crate) struct Failure {
    pub op: Op,
    pub offset: u64,
    pub result: i32,
}

impl Failure {
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "every one of them is a different thing, used once")]
    pub fn count<S: Sink>(
        self,
        recorder: &mut Recorder<S>,
        slot_table: &SlotTable,
        control: &Control,
        last: &mut Last,
        stop_on_error: bool,
        measuring: bool,
        now_ns: u64,
    ) {
        let Self { op, offset, result } = self;
        slot_table.errored(1);
        let errno = if result < 0 { -result } else { 0 };
        if measuring {
            recorder.failed(op, errno, offset);
            recorder.counted(now_ns);
        }
        if stop_on_error || errno == libc::ENOSPC || errno == libc::EDQUOT {
            last.fatal.get_or_insert((errno, offset));
            control.stop(Reason::Error, now_ns);
        }
    }
}

/// What the cycles of a thread leave for its end.
#[derive(Default)]
pub(crate) struct Last {
    pub end_ns: u64,
    pub fatal: Option<(i32, u64)>,
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
    /// Run to the end.
    #[must_use]
    pub fn run(mut self) -> Ended {
        let mut last = Last::default();
        let outcome = if Q::IN_PLACE { self.cycle_in_place(&mut last) } else { self.cycle(&mut last) };
        let lost_at_ns = self.clock.now_ns();
        if let Err(e) = &outcome {
            self.control.stop(Reason::Error, lost_at_ns);
            let errno = strata_remote::errno(e);
            // What had come back well before the loss was noticed did complete; like the drain's, it is not measured.
            let slot_table = self.slot_table;
            self.queue.reap(|Completion { slot, result }| {
                if result == slot_table.peek(slot).len() as i32 {
                    slot_table.slots()[slot as usize].clear();
                    slot_table.completed(1);
                }
            });
            for slot in slot_table.slots_in_flight().collect::<Vec<_>>() {
                let io = slot_table.peek(slot);
                slot_table.slots()[slot as usize].clear();
                slot_table.errored(1);
                if self.recorder.measuring() {
                    self.recorder.failed(io.op(), errno, io.offset());
                    self.recorder.counted(lost_at_ns);
                }
            }
        }
        // Out of tickets: the run ended with the last I/O. Otherwise when it was decided.
        let end_ns = if last.end_ns > 0 { last.end_ns } else { self.control.end_ns() };
        let end_ns = self.recorder.close(end_ns);
        self.marks.ended();
        let transport = outcome.and_then(|()| self.drain());
        if transport.is_err() {
            // Lost in the drain: gone with their transport, not stuck.
            self.slot_table.errored(self.slot_table.tally().stuck);
        }
        let tally =
            Tally { end_ns, first_ns: self.recorder.first_ns, fatal: last.fatal, ..self.slot_table.tally() };
        let stuck = if tally.stuck > 0 { self.slot_table.stuck(self.clock.now_ns()) } else { Vec::new() };
        Ended { tally, stuck, transport }
    }

    fn cycle(&mut self, last: &mut Last) -> io::Result<()> {
        let Plan { depth, batch: most, start_ns, .. } = self.plan;
        let mut free = Free { slots: (0..depth).rev().collect(), top: depth as usize };
        let mut now_ns = self.clock.now_ns();
        let mut submissions = 0u64;
        // I/Os this thread may issue before it must ask for more; without a limit it never must.
        let mut allowance = u64::MAX;
        let mut spent = false;
        if self.recorder.roll(now_ns) {
            self.marks.measuring();
            allowance = if self.control.limited() { 0 } else { u64::MAX };
        }
        loop {
            // Draw and push what is due: as many as there are free slots, the batch holds, and a limit leaves.
            let mut idle_ns = TICK_NS;
            let full = free.top;
            let elapsed_ns = now_ns.saturating_sub(start_ns);
            let mut room = full.min(most as usize);
            if allowance < room as u64 {
                allowance += self.control.take(room as u64 - allowance);
                spent = allowance < room as u64;
                room = room.min(allowance as usize);
            }
            let in_flight = depth - full as u32;
            let ios = self.access.ahead(room);
            let slots = self.slot_table.slots();
            let batch = full - ios.len()..full;
            let mut pairs = ios.iter().zip(&free.slots[batch.clone()]);
            let mut taken = 0;
            let mut more = false;
            loop {
                match self.pace.due(elapsed_ns, in_flight + taken as u32) {
                    Due::After { wait_ns } => {
                        idle_ns = idle_ns.min(wait_ns);
                        break;
                    }
                    Due::Now { intended_ns } => {
                        let Some((&io, &slot)) = pairs.next() else {
                            // Due, with slots free, and only the batch is full: no time to wait.
                            more = taken < full && !spent;
                            break;
                        };
                        taken += 1;
                        slots[slot as usize].take(io);
                        if P::OPEN {
                            self.slot_table.intend(slot, start_ns + intended_ns);
                        }
                        if io.may_write() {
                            (self.fill_buffer)(&mut self.queue.buffer(slot)[..io.len() as usize]);
                        }
                        self.pace.advance(io.len());
                    }
                }
            }
            if !P::ALWAYS && taken < batch.len() {
                // The pace ended the batch early: what was taken goes above what was not.
                free.slots[batch].rotate_left(taken);
            }
            self.access.used(taken);
            allowance -= taken as u64;
            free.top = full - taken;
            if spent && free.top == depth as usize {
                last.end_ns = now_ns;
                return Ok(());
            }

            // Stamp, hand over, wait.
            let wait = u32::from(!more);
            let limit = (!more).then(|| Duration::from_nanos(idle_ns));
            if taken == 0 {
                self.queue.submit(wait, limit)?;
            } else {
                let issue_ns = self.clock.now_ns();
                let measuring = self.recorder.measuring();
                for &slot in &free.slots[free.top..full] {
                    let place = &slots[slot as usize];
                    place.issue(issue_ns);
                    let io = place.io();
                    self.queue.push(slot, io);
                    if P::OPEN && measuring {
                        self.recorder.lag.record(issue_ns.saturating_sub(self.slot_table.intended_ns(slot)));
                    }
                }
                self.slot_table.issued(taken as u64);
                let sampled = submissions.is_multiple_of(SAMPLE_EVERY);
                submissions += 1;
                if sampled {
                    self.queue.submit(0, None)?;
                    let handed_ns = self.clock.now_ns();
                    let op = self.slot_table.peek(free.slots[free.top]).op();
                    self.recorder.handed(op, issue_ns, handed_ns);
                    if wait > 0 {
                        self.queue.submit(wait, limit)?;
                    }
                } else {
                    self.queue.submit(wait, limit)?;
                }
            }

            // See what came back.
            now_ns = self.clock.now_ns();
            let end_ns = self.control.end_ns();
            if now_ns >= end_ns {
                return Ok(());
            }
            if now_ns >= self.recorder.next_ns() && self.recorder.roll(now_ns) {
                self.marks.measuring();
                if self.control.limited() {
                    // What is in flight now will be counted.
                    allowance = 0;
                    let _ = self.control.take(u64::from(depth) - free.top as u64);
                }
            }
            self.see(&mut free, last, now_ns);
        }
    }

    /// Take and count what came back by `now_ns`.
    #[inline]
    fn see(&mut self, free: &mut Free, last: &mut Last, now_ns: u64) {
        let measuring = self.recorder.measuring();
        let (recorder, slot_table, control) = (&mut *self.recorder, self.slot_table, self.control);
        let stop_on_error = self.plan.stop_on_error;
        // I/Os of one batch that came back together took equally long: they are counted in one go.
        let mut alike = Alike { kind: IoKind::default(), issue_ns: 0, n: 0 };
        let mut failed = 0;
        let slots = slot_table.slots();
        let seen = self.queue.reap(|Completion { slot, result }| {
            let (kind, issue_ns) = slots[slot as usize].clear();
            free.back(slot);
            if result != kind.bytes() as i32 {
                failed += 1;
                let failure = Failure { op: kind.op(), offset: slot_table.offset(slot), result };
                return failure.count(recorder, slot_table, control, last, stop_on_error, measuring, now_ns);
            }
            if alike.differs(kind, issue_ns) {
                if measuring {
                    alike.count(recorder, now_ns);
                }
                alike = Alike { kind, issue_ns, n: 0 };
            }
            alike.n += 1;
            if P::OPEN && measuring {
                recorder.lane(kind.op()).response.record(now_ns - slot_table.intended_ns(slot));
            }
        });
        if measuring {
            alike.count(recorder, now_ns);
            if seen > 0 {
                recorder.counted(now_ns);
            }
        }
        slot_table.completed(seen as u64 - failed);
    }

    /// Wait for what is in flight; none of it is counted as measured.
    fn drain(&mut self) -> io::Result<()> {
        let mut heard_ns = self.clock.now_ns();
        let last_ns = heard_ns.saturating_add(self.plan.drain_ns);
        let slot_table = self.slot_table;
        loop {
            let came = self.queue.reap(|Completion { slot, result }| {
                if result == slot_table.slots()[slot as usize].clear().0.bytes() as i32 {
                    slot_table.completed(1);
                } else {
                    slot_table.errored(1);
                }
            });
            let now_ns = self.clock.now_ns();
            heard_ns = if came > 0 { now_ns } else { heard_ns };
            let deadline_ns =
                if self.control.drain_shortened() { last_ns.min(heard_ns + SHORT_DRAIN_NS) } else { last_ns };
            if slot_table.slots_in_flight().next().is_none() || now_ns >= deadline_ns {
                return Ok(());
            }
            let wait_ns = TICK_NS.min(deadline_ns - now_ns);
            self.queue.submit(1, Some(Duration::from_nanos(wait_ns)))?;
        }
    }
}
