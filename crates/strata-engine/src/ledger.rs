//! What one thread has in flight and what became of the rest, where another thread can read it.
//!
//! A thread inside a call that never returns cannot report; the conductor reads its ledger instead. There is one
//! writer, so everything is a plain load or store (relaxed), never a locked instruction.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use strata_pattern::{Io, Op};

use crate::load::Tally;

/// An I/O that never came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// What was asked.
    pub io: Io,
    /// Time since its issue, in ns.
    pub age_ns: u64,
}

/// One slot. All zero while nothing is in flight there.
#[derive(Debug, Default)]
struct Slot {
    issue_ns: AtomicU64,
    intended_ns: AtomicU64,
    offset: AtomicU64,
    /// Length, target and operation, and the bit that says that it is taken.
    rest: AtomicU64,
}

/// A slot's I/O as the loop needs it back.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// What was asked.
    pub io: Io,
    /// When it was handed over, in ns.
    pub issue_ns: u64,
    /// When it was meant to be (open loop), in ns.
    pub intended_ns: u64,
}

/// The books of one thread; on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub struct Ledger {
    slots: Box<[Slot]>,
    issued: AtomicU64,
    completed: AtomicU64,
    errored: AtomicU64,
}

const TAKEN: u64 = 1 << 63;

fn pack(io: Io) -> u64 {
    TAKEN | u64::from(io.len) | u64::from(io.target) << 32 | (io.op as u64) << 48
}

fn unpack(rest: u64, offset: u64) -> Io {
    let op = match rest >> 48 & 3 {
        0 => Op::Read,
        1 => Op::Write,
        2 => Op::Fsync,
        _ => Op::Fdatasync,
    };
    Io { offset, len: rest as u32, target: (rest >> 32) as u16, op }
}

fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed) + n, Relaxed);
}

impl Ledger {
    /// Books for `depth` slots.
    #[must_use]
    pub fn new(depth: u32) -> Self {
        Self {
            slots: (0..depth).map(|_| Slot::default()).collect(),
            issued: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            errored: AtomicU64::new(0),
        }
    }

    /// `io` goes into `slot`; it is handed over when [`Self::issue`] says so.
    #[inline]
    pub fn take(&self, slot: u32, io: Io, intended_ns: u64) {
        let entry = &self.slots[slot as usize];
        entry.intended_ns.store(intended_ns, Relaxed);
        entry.offset.store(io.offset, Relaxed);
        entry.rest.store(pack(io), Relaxed);
    }

    /// `slots` are handed over now; gives the intended start of each to `each`.
    #[inline]
    pub fn issue(&self, slots: &[u32], issue_ns: u64, mut each: impl FnMut(u64)) {
        for &slot in slots {
            let entry = &self.slots[slot as usize];
            entry.issue_ns.store(issue_ns, Relaxed);
            each(entry.intended_ns.load(Relaxed));
        }
        add(&self.issued, slots.len() as u64);
    }

    /// What is in `slot`; it is free afterwards.
    #[inline]
    pub fn clear(&self, slot: u32) -> Flight {
        let entry = &self.slots[slot as usize];
        let rest = entry.rest.load(Relaxed);
        entry.rest.store(0, Relaxed);
        Flight {
            io: unpack(rest, entry.offset.load(Relaxed)),
            issue_ns: entry.issue_ns.load(Relaxed),
            intended_ns: entry.intended_ns.load(Relaxed),
        }
    }

    /// What is in `slot`, left there.
    #[must_use]
    pub fn peek(&self, slot: u32) -> Io {
        let entry = &self.slots[slot as usize];
        unpack(entry.rest.load(Relaxed), entry.offset.load(Relaxed))
    }

    /// `n` I/Os came back well.
    #[inline]
    pub fn completed(&self, n: u64) {
        add(&self.completed, n);
    }

    /// `n` I/Os came back failed, or were lost with their carrier.
    pub fn errored(&self, n: u64) {
        add(&self.errored, n);
    }

    /// The slots that are in flight.
    pub fn aloft(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().zip(0..).filter(|(entry, _)| entry.rest.load(Relaxed) != 0).map(|(_, slot)| slot)
    }

    /// The counts so far; whatever is not accounted for is stuck.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let [issued, completed, errored] =
            [&self.issued, &self.completed, &self.errored].map(|counter| counter.load(Relaxed));
        let stuck = issued.saturating_sub(completed + errored);
        Tally { issued, completed, errored, stuck, ..Tally::default() }
    }

    /// What is in flight, the oldest first.
    #[must_use]
    pub fn stuck(&self, now_ns: u64) -> Vec<Stuck> {
        let mut stuck: Vec<Stuck> = self
            .aloft()
            .map(|slot| Stuck {
                io: self.peek(slot),
                age_ns: now_ns.saturating_sub(self.slots[slot as usize].issue_ns.load(Relaxed)),
            })
            .collect();
        stuck.sort_by_key(|s| std::cmp::Reverse(s.age_ns));
        stuck
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_is_found_again_with_its_age() {
        let ledger = Ledger::new(3);
        let write = Io { offset: u64::MAX >> 1, len: u32::MAX, target: u16::MAX, op: Op::Write };
        let flush = Io { op: Op::Fdatasync, ..Io::default() };
        ledger.take(2, write, 90);
        ledger.issue(&[2], 100, |intended_ns| assert_eq!(intended_ns, 90));
        ledger.take(0, flush, 0);
        ledger.issue(&[0], 150, |_| ());
        assert_eq!(ledger.aloft().collect::<Vec<_>>(), [0, 2]);
        let ages: Vec<_> = ledger.stuck(200).iter().map(|s| (s.io, s.age_ns)).collect();
        assert_eq!(ages, [(write, 100), (flush, 50)]);
        let flight = ledger.clear(2);
        assert_eq!((flight.io, flight.issue_ns, flight.intended_ns), (write, 100, 90));
        ledger.completed(1);
        assert_eq!(ledger.tally(), Tally { issued: 2, completed: 1, stuck: 1, ..Tally::default() });
    }
}
