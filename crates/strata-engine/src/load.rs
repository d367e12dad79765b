//! The load loop: the only place where an I/O is timed.
//!
//! # Timing model
//!
//! Instants of one I/O, all read from the thread's clock:
//!
//! | name | read |
//! |---|---|
//! | `intended` | not read: the schedule's own value (open loop only) |
//! | `issue` | once for a batch, after its offsets are drawn and its write data stamped, right before the submit call that hands it over |
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

/// Longest wait without a look at the end of the run, in ns.
const TICK_NS: u64 = 100_000_000;
/// One submission in this many is split to time the submit call alone.
const SAMPLE_EVERY: u64 = 64;

/// What a thread does, decided before it begins.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Slots.
    pub depth: u32,
    /// Most I/Os handed over at once.
    pub batch: u32,
    /// Bytes of each I/O.
    pub block_bytes: u32,
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
    /// Came back failed, or were lost with their carrier.
    pub errored: u64,
    /// Never came back.
    pub stuck: u64,
    /// Instant at which counting ended, in ns.
    pub end_ns: u64,
    /// The failed I/O that ended the run, also when that was within the ramp: errno and offset.
    pub fatal: Option<(i32, u64)>,
}

#[derive(Clone, Copy, Default)]
struct Flight {
    issue_ns: u64,
    intended_ns: u64,
    offset: u64,
    read: bool,
    aloft: bool,
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
    pub dress: W,
    /// Counts.
    pub recorder: &'a mut Recorder<S>,
    /// Shared with the other threads.
    pub control: &'a Control,
    /// Told when counting begins and ends.
    pub marks: M,
    /// Decided before.
    pub plan: Plan,
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
    ///
    /// # Errors
    /// The carrier failed; the tally says what was lost with it.
    pub fn run(mut self) -> (Tally, io::Result<()>) {
        let depth = self.plan.depth as usize;
        let mut flights = vec![Flight::default(); depth];
        let mut free: Vec<u32> = (0..self.plan.depth).rev().collect();
        let mut batch: Vec<u32> = Vec::with_capacity(self.plan.batch.min(self.plan.depth) as usize);
        let mut tally = Tally::default();
        let outcome = self.cycle(&mut flights, &mut free, &mut batch, &mut tally);
        let lost_at_ns = self.clock.now_ns();
        if let Err(e) = &outcome {
            self.control.stop(Reason::Error, lost_at_ns);
            let errno = strata_proto::errno(e);
            // What had come back well before the loss was noticed did complete; like the drain's, it is not measured.
            let whole = self.plan.block_bytes as i32;
            self.queue.reap(|Completion { slot, result }| {
                if result == whole {
                    flights[slot as usize].aloft = false;
                    tally.completed += 1;
                }
            });
            for flight in flights.iter_mut().filter(|f| f.aloft) {
                flight.aloft = false;
                tally.errored += 1;
                if self.recorder.measuring() {
                    self.recorder.failed(flight.read, errno, flight.offset, lost_at_ns);
                }
            }
        }
        // Out of tickets: the run ended with the last I/O. Otherwise when it was decided.
        let end_ns = if tally.end_ns > 0 { tally.end_ns } else { self.control.end_ns() };
        tally.end_ns = self.recorder.close(end_ns);
        self.marks.ended();
        let outcome = outcome.and_then(|()| self.drain(&mut flights, &mut tally));
        if outcome.is_err() {
            // Lost in the drain: gone with their carrier, not stuck.
            tally.errored += flights.iter().filter(|f| f.aloft).count() as u64;
        }
        tally.stuck = tally.issued - tally.completed - tally.errored;
        (tally, outcome)
    }

    fn cycle(
        &mut self,
        flights: &mut [Flight],
        free: &mut Vec<u32>,
        batch: &mut Vec<u32>,
        tally: &mut Tally,
    ) -> io::Result<()> {
        let Plan { depth, batch: most, block_bytes, start_ns, stop_on_error, .. } = self.plan;
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
            // Draw and push what is due.
            let mut idle_ns = TICK_NS;
            let mut more = false;
            batch.clear();
            while let Some(&slot) = free.last() {
                match self.pace.due(now_ns.saturating_sub(start_ns)) {
                    Due::After { wait_ns } => {
                        idle_ns = idle_ns.min(wait_ns);
                        break;
                    }
                    Due::Now { intended_ns } => {
                        if batch.len() == most as usize {
                            more = true;
                            break;
                        }
                        if allowance == 0 {
                            allowance = self.control.take(u64::from(most));
                            spent = allowance == 0;
                            if spent {
                                break;
                            }
                        }
                        allowance -= 1;
                        free.pop();
                        let (read, offset) = self.access.draw();
                        if !read {
                            (self.dress)(self.queue.buffer(slot));
                        }
                        let op = if read { Op::Read } else { Op::Write };
                        flights[slot as usize] = Flight {
                            issue_ns: 0,
                            intended_ns: start_ns + intended_ns,
                            offset,
                            read,
                            aloft: true,
                        };
                        self.queue.push(slot, op, offset, block_bytes);
                        batch.push(slot);
                        let access = &mut self.access;
                        self.pace.advance(|| access.bits());
                    }
                }
            }
            if spent && free.len() == depth as usize {
                tally.end_ns = now_ns;
                return Ok(());
            }

            // Stamp, hand over, wait.
            let wait = u32::from(!more);
            let limit = (!more).then(|| Duration::from_nanos(idle_ns));
            if batch.is_empty() {
                self.queue.submit(wait, limit)?;
            } else {
                let issue_ns = self.clock.now_ns();
                for &slot in batch.iter() {
                    let flight = &mut flights[slot as usize];
                    flight.issue_ns = issue_ns;
                    if P::OPEN && self.recorder.measuring() {
                        self.recorder.lag.record(issue_ns.saturating_sub(flight.intended_ns));
                    }
                }
                tally.issued += batch.len() as u64;
                if submissions.is_multiple_of(SAMPLE_EVERY) {
                    self.queue.submit(0, None)?;
                    let handed_ns = self.clock.now_ns();
                    if self.recorder.measuring() {
                        let read = flights[batch[0] as usize].read;
                        self.recorder.lane(read).submit.record(handed_ns - issue_ns);
                    }
                    if wait > 0 {
                        self.queue.submit(wait, limit)?;
                    }
                } else {
                    self.queue.submit(wait, limit)?;
                }
                submissions += 1;
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
                    let _ = self.control.take(u64::from(depth) - free.len() as u64);
                }
            }
            let measuring = self.recorder.measuring();
            let (recorder, control) = (&mut *self.recorder, self.control);
            self.queue.reap(|Completion { slot, result }| {
                let flight = &mut flights[slot as usize];
                flight.aloft = false;
                free.push(slot);
                if result == block_bytes as i32 {
                    tally.completed += 1;
                    if measuring {
                        recorder.done(flight.read, now_ns - flight.issue_ns, now_ns);
                        if P::OPEN {
                            recorder.lane(flight.read).response.record(now_ns - flight.intended_ns);
                        }
                    }
                } else {
                    tally.errored += 1;
                    let errno = if result < 0 { -result } else { 0 };
                    if measuring {
                        recorder.failed(flight.read, errno, flight.offset, now_ns);
                    }
                    if stop_on_error || errno == libc::ENOSPC || errno == libc::EDQUOT {
                        tally.fatal.get_or_insert((errno, flight.offset));
                        control.stop(Reason::Error, now_ns);
                    }
                }
            });
        }
    }

    /// Wait for what is in flight; none of it is counted as measured.
    fn drain(&mut self, flights: &mut [Flight], tally: &mut Tally) -> io::Result<()> {
        let deadline_ns = self.clock.now_ns().saturating_add(self.plan.drain_ns);
        let block_bytes = self.plan.block_bytes as i32;
        loop {
            self.queue.reap(|Completion { slot, result }| {
                flights[slot as usize].aloft = false;
                if result == block_bytes {
                    tally.completed += 1;
                } else {
                    tally.errored += 1;
                }
            });
            let aloft = flights.iter().any(|f| f.aloft);
            let now_ns = self.clock.now_ns();
            if !aloft || now_ns >= deadline_ns {
                return Ok(());
            }
            let wait_ns = TICK_NS.min(deadline_ns - now_ns);
            self.queue.submit(1, Some(Duration::from_nanos(wait_ns)))?;
        }
    }
}
