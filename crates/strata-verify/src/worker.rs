//! The I/O of one thread: passes over its part of the blocks, with the queue kept full.
//!
//! A pass comes to each block once, and a pass ends before the next begins: a block never has two I/Os in flight, so
//! what a read may give is always known. Before a batch of writes is submitted the journal says that they begin.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use strata_io::{Completion, Io, Op, Queue};
use strata_pattern::{Permutation, Rng};

use crate::block_states::{BlockStates, Event, Loss};
use crate::classify::{Fault, Verdict, classify};
use crate::job::{Job, Mode, Order};
use crate::journal_file::JournalFile;
use crate::shared::{Shared, WRITING};
use crate::stamp::Layout;
use crate::tally::{End, Failures, Stuck, Tally};

/// Longest wait for completions without a look at the word to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Longest wait for what is in flight once it was asked to stop.
const DRAIN: Duration = Duration::from_secs(5);

/// One pass over all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Write this share in percent of them, read the others.
    Write(u8),
    /// Read all.
    Read,
}

/// An I/O in flight.
#[derive(Clone, Copy)]
struct InFlightIo {
    op: Op,
    block: u64,
    since: Instant,
}

/// One thread's work.
pub(crate) struct Worker<Q: Queue> {
    job: Arc<Job>,
    thread: u32,
    layout: Layout,
    queue: Q,
    states: BlockStates,
    journal: Option<Arc<JournalFile>>,
    shared: Arc<Shared>,
    first: u64,
    end: u64,
    in_flight: Vec<Option<InFlightIo>>,
    free: Vec<u32>,
    /// Not in the journal yet.
    events: Vec<Event>,
    /// Since when the one flush is in flight, in [`Job::flush_slot`].
    flushing: Option<Instant>,
    unflushed: u64,
    /// What the first reading pass of a check may find.
    loss: Loss,
    tally: Tally,
}

/// A reason to end early.
type Early = Result<(), End>;

impl<Q: Queue> Worker<Q> {
    /// `queue` has [`Job::slots`].
    pub fn new(
        job: Arc<Job>,
        thread: u32,
        queue: Q,
        states: BlockStates,
        journal: Option<Arc<JournalFile>>,
        shared: Arc<Shared>,
    ) -> Self {
        let (first, end) = job.part(thread);
        let depth = job.iodepth;
        Self {
            layout: job.layout(),
            loss: if job.mode == Mode::Run { Loss::Process } else { job.loss },
            job,
            thread,
            queue,
            states,
            journal,
            shared,
            first,
            end,
            in_flight: vec![None; depth as usize],
            free: (0..depth).rev().collect(),
            events: Vec::new(),
            flushing: None,
            unflushed: 0,
            tally: Tally::default(),
        }
    }

    /// Do all passes.
    pub fn work(mut self) -> Tally {
        let end = self.passes().err().unwrap_or(End::Done);
        if !matches!(end, End::Done | End::Stopped) {
            self.shared.stop();
        }
        let clean = self.in_flight.iter().all(Option::is_none) && self.flushing.is_none();
        self.tally.end = end;
        if clean {
            drop(self.queue)
        } else {
            self.queue.abandon()
        }
        self.tally
    }

    fn passes(&mut self) -> Early {
        let mut number = 0;
        let mut pass = |worker: &mut Self, kind| {
            number += 1;
            worker.pass(number, kind)
        };
        if self.job.mode != Mode::Run {
            pass(self, Pass::Read)?;
            // What the loss may have taken is settled; from here on what is acknowledged has to be there.
            if self.loss == Loss::Power {
                self.note(Event::PowerLost);
            }
            self.loss = Loss::Process;
        }
        if self.job.mode == Mode::Check {
            return Ok(());
        }
        let mut share = 100;
        for _ in 0..self.job.passes.unwrap_or(u32::MAX) {
            pass(self, Pass::Write(share))?;
            pass(self, Pass::Read)?;
            share = self.job.write_percent;
            if self.out_of_time() {
                break;
            }
        }
        // Once more in another order: a target that shows a write once and then an older one is found by this alone.
        pass(self, Pass::Read)
    }

    fn out_of_time(&self) -> bool {
        self.job.runtime_ns.is_some_and(|limit| self.shared.elapsed() >= Duration::from_nanos(limit))
    }

    fn pass(&mut self, number: u32, pass: Pass) -> Early {
        let writing = if pass == Pass::Read { 0 } else { WRITING };
        self.shared.passes[self.thread as usize].store((number - 1) | writing, Relaxed);
        let blocks = self.end - self.first;
        let seed = self.job.seed.wrapping_add(u64::from(number) << 32 | u64::from(self.thread));
        let shuffled = (self.job.order == Order::Random).then(|| Permutation::new(blocks, seed));
        let mut dice = Rng::new(seed, 1);
        if pass == Pass::Read {
            self.tally.verified = 0;
        }
        let mut next = 0;
        let mut stopping_since = None;
        loop {
            self.shared.beat(self.thread);
            if self.shared.stopping() {
                stopping_since.get_or_insert_with(Instant::now);
            }
            let over = pass != Pass::Read && self.out_of_time();
            while stopping_since.is_none() && !over && next < blocks {
                let Some(slot) = self.free.pop() else { break };
                let block = self.first + shuffled.map_or(next, |order| order.at(next));
                let op = match pass {
                    Pass::Write(share) if dice.below(100) < u64::from(share) => Op::Write,
                    _ => Op::Read,
                };
                self.issue(slot, op, block);
                next += 1;
            }
            let idle = self.free.len() == self.in_flight.len();
            let through = idle && (next == blocks || over || stopping_since.is_some());
            let due = self.job.flush_every > 0 && self.unflushed >= self.job.flush_every;
            if pass != Pass::Read && self.flushing.is_none() && self.unflushed > 0 && (due || through) {
                self.begin_flush()?;
            }
            if through && self.flushing.is_none() {
                self.write_journal()?;
                break;
            }
            self.turn()?;
            self.look_for_stuck()?;
            if stopping_since.is_some_and(|since| since.elapsed() > DRAIN) {
                return Err(End::Stopped);
            }
        }
        if stopping_since.is_some() {
            return Err(End::Stopped);
        }
        self.tally.passes += 1;
        Ok(())
    }

    /// Put an I/O on its way. The one place that gives the queue reads and writes.
    fn issue(&mut self, slot: u32, op: Op, block: u64) {
        let offset = self.layout.offset(block);
        let bs = self.job.bs;
        if op == Op::Write {
            self.note(Event::Issued(block));
            let generation = self.states.issued(block);
            self.layout.write(&mut self.queue.buffer(slot)[..bs as usize], offset, generation);
        }
        self.queue.push(slot, Io::new(op, 0, offset, bs));
        self.in_flight[slot as usize] = Some(InFlightIo { op, block, since: Instant::now() });
    }

    fn begin_flush(&mut self) -> Early {
        self.unflushed = 0;
        // In the journal first: what other threads note after it may not be covered.
        self.note(Event::FlushBegun(self.thread.into()));
        self.write_journal()?;
        self.queue.push(self.job.flush_slot(), Io::flush(Op::Fdatasync, 0));
        self.flushing = Some(Instant::now());
        Ok(())
    }

    /// Submit what was issued, wait for something to complete, and take it in.
    fn turn(&mut self) -> Early {
        self.write_journal()?;
        let busy = self.free.len() < self.in_flight.len();
        let wait = u32::from(busy || self.flushing.is_some());
        let carried = self.queue.submit(wait, Some(LOOK));
        let mut completed = Vec::with_capacity(self.in_flight.len());
        self.queue.reap(|completion| completed.push(completion));
        for completion in completed {
            // With the transport gone every request fails, which says nothing of the blocks.
            if carried.is_ok() || completion.result >= 0 {
                self.complete(completion);
            }
        }
        carried.map_err(|e| End::CarrierLost { why: e.to_string() })
    }

    fn write_journal(&mut self) -> Early {
        if let Some(journal) = &self.journal {
            journal.append(&self.events).map_err(|e| End::JournalFailed { why: e.to_string() })?;
        }
        self.events.clear();
        Ok(())
    }

    fn note(&mut self, event: Event) {
        self.states.note(event);
        if self.journal.is_some() {
            self.events.push(event);
        }
    }

    fn complete(&mut self, Completion { slot, result }: Completion) {
        if slot == self.job.flush_slot() {
            return self.flushed(result);
        }
        let Some(flight) = self.in_flight[slot as usize].take() else { return };
        self.free.push(slot);
        self.shared.blocks.fetch_add(1, Relaxed);
        match flight.op {
            Op::Write => self.wrote(flight.block, result),
            Op::Read => self.read(slot, flight.block, result),
            // Flushes have a slot of their own, and no block.
            Op::Fsync | Op::Fdatasync => {}
        }
    }

    fn flushed(&mut self, result: i32) {
        self.flushing = None;
        match result {
            0.. => {
                self.tally.flushes += 1;
                self.note(Event::Flushed(self.thread.into()));
            }
            _ if result == -libc::EOPNOTSUPP => self.tally.flush_unsupported = true,
            _ => self.tally.flush_failures += 1,
        }
    }

    fn wrote(&mut self, block: u64, result: i32) {
        let bs = self.job.bs;
        if result == bs as i32 {
            self.note(Event::Acked(block));
            self.unflushed += 1;
            self.tally.writes += 1;
            self.tally.write_bytes += u64::from(bs);
            self.shared.writes.fetch_add(1, Relaxed);
            self.shared.bytes.fetch_add(bs.into(), Relaxed);
        } else {
            // Nobody knows what of it is there: it stays as if in flight until the next write is acknowledged.
            let first_offset = self.layout.offset(block);
            let failures = self.tally.write_failures.entry(-result.min(0));
            failures.and_modify(|f| f.count += 1).or_insert(Failures { count: 1, first_offset });
        }
    }

    fn read(&mut self, slot: u32, block: u64, result: i32) {
        let (bs, offset, generation) = (self.job.bs, self.layout.offset(block), self.states.issued(block));
        self.tally.verified += 1;
        if result != bs as i32 {
            self.fault(block, generation, Fault::Unreadable { errno: -result.min(0) });
            return;
        }
        self.tally.reads += 1;
        self.tally.read_bytes += u64::from(bs);
        self.shared.reads.fetch_add(1, Relaxed);
        self.shared.bytes.fetch_add(bs.into(), Relaxed);
        let expect = self.states.expect(block, self.loss, self.job.atomic);
        let open = expect.may > expect.must && expect.seen == 0;
        match classify(&self.layout, offset, &self.queue.buffer(slot)[..bs as usize], expect) {
            Verdict::Whole(seen) => {
                self.tally.in_flight_new += u64::from(open && seen == expect.may);
                self.tally.in_flight_old += u64::from(open && seen != expect.may);
                self.states.saw(block, seen);
                self.tally.fault_log.fine(block, generation, seen);
            }
            Verdict::Unwritten => self.tally.in_flight_old += u64::from(open),
            Verdict::TornInFlight => {
                self.tally.torn_in_flight += 1;
                if self.tally.torn_offsets.len() < self.job.list as usize {
                    self.tally.torn_offsets.push(offset);
                }
            }
            Verdict::Faulty(fault) => self.fault(block, generation, fault),
        }
    }

    fn fault(&mut self, block: u64, generation: u64, fault: Fault) {
        let before = self.tally.fault_log.len();
        self.tally.fault_log.found(block, generation, fault);
        self.shared.faults.fetch_add(self.tally.fault_log.len() - before, Relaxed);
    }

    fn look_for_stuck(&mut self) -> Early {
        let limit = Duration::from_nanos(self.job.stuck_after_ns);
        let layout = self.layout;
        let late = self.in_flight.iter().flatten().filter(|flight| flight.since.elapsed() > limit);
        let mut stuck: Vec<Stuck> = late
            .map(|flight| Stuck {
                op: if flight.op == Op::Read { "read" } else { "write" },
                offset: Some(layout.offset(flight.block)),
                age_ns: flight.since.elapsed().as_nanos() as u64,
            })
            .collect();
        if let Some(since) = self.flushing.filter(|since| since.elapsed() > limit) {
            stuck.push(Stuck { op: "flush", offset: None, age_ns: since.elapsed().as_nanos() as u64 });
        }
        if stuck.is_empty() {
            return Ok(());
        }
        self.tally.stuck = stuck;
        Err(End::Stuck)
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
