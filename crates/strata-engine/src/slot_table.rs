//! What one thread has in flight and what became of the rest, where another thread can read it.
//!
//! A thread inside a call that never returns cannot report; the collector reads its slot_table instead. There is one
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
pub struct Slot {
    issue_ns: AtomicU64,
    intended_ns: AtomicU64,
    /// The I/O's two words; the second is 0 only while the slot is free.
    io: [AtomicU64; 2],
}

impl Slot {
    /// `io` is here; it is handed over when [`Self::issue`] says so.
    #[inline]
    pub fn take(&self, io: Io) {
        for (place, word) in self.io.iter().zip(io.to_words()) {
            place.store(word, Relaxed);
        }
    }

    /// What is here is followed by `io`, which differs in its offset alone.
    #[inline]
    pub fn replace(&self, io: Io) {
        self.io[0].store(io.offset(), Relaxed);
    }

    /// What is here is handed over at `issue_ns`.
    #[inline]
    pub fn issue(&self, issue_ns: u64) {
        self.issue_ns.store(issue_ns, Relaxed);
    }

    /// What is here (its offset stays until the next [`Self::take`]), and when it was handed over. The slot is free
    /// afterwards.
    #[inline]
    pub fn clear(&self) -> (IoKind, u64) {
        let kind = IoKind(self.io[1].load(Relaxed));
        self.io[1].store(0, Relaxed);
        (kind, self.issue_ns.load(Relaxed))
    }

    /// What is here.
    #[inline]
    #[must_use]
    pub fn io(&self) -> Io {
        Io::from_words([self.io[0].load(Relaxed), self.io[1].load(Relaxed)])
    }
}

/// All of an I/O but where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoKind(u64);

impl IoKind {
    /// See [`Io::op`].
    #[inline]
    #[must_use]
    pub fn op(self) -> Op {
        Io::from_words([0, self.0]).op()
    }

    /// 0 for the same kind.
    #[inline]
    #[must_use]
    pub fn difference(self, other: Self) -> u64 {
        self.0 ^ other.0
    }

    /// See [`Io::len`].
    #[inline]
    #[must_use]
    pub fn bytes(self) -> u32 {
        Io::from_words([0, self.0]).len()
    }
}

/// The books of one thread; on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub struct SlotTable {
    slots: Box<[Slot]>,
    issued: AtomicU64,
    completed: AtomicU64,
    errored: AtomicU64,
    /// Came back well and gave their slot to the next one: both issued and completed, in one addition.
    passed: AtomicU64,
}

fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed) + n, Relaxed);
}

impl SlotTable {
    /// Books for `depth` slots.
    #[must_use]
    pub fn new(depth: u32) -> Self {
        Self {
            slots: (0..depth).map(|_| Slot::default()).collect(),
            issued: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            errored: AtomicU64::new(0),
            passed: AtomicU64::new(0),
        }
    }

    /// All slots, in order.
    #[inline]
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// When the I/O in `slot` was meant to start, in ns (open loop).
    #[inline]
    pub fn intend(&self, slot: u32, intended_ns: u64) {
        self.slots[slot as usize].intended_ns.store(intended_ns, Relaxed);
    }

    /// See [`Self::intend`].
    #[inline]
    #[must_use]
    pub fn intended_ns(&self, slot: u32) -> u64 {
        self.slots[slot as usize].intended_ns.load(Relaxed)
    }

    /// `n` more I/Os were handed over.
    #[inline]
    pub fn issued(&self, n: u64) {
        add(&self.issued, n);
    }

    /// Offset of what is or was in `slot`, in bytes.
    #[must_use]
    pub fn offset(&self, slot: u32) -> u64 {
        self.slots[slot as usize].io[0].load(Relaxed)
    }

    /// What is in `slot`, left there.
    #[inline]
    #[must_use]
    pub fn peek(&self, slot: u32) -> Io {
        self.slots[slot as usize].io()
    }

    /// `n` I/Os came back well.
    #[inline]
    pub fn completed(&self, n: u64) {
        add(&self.completed, n);
    }

    /// One I/O came back well and the next one was handed over.
    #[inline]
    pub fn passed(&self) {
        add(&self.passed, 1);
    }

    /// `n` I/Os came back failed, or were lost with their transport.
    pub fn errored(&self, n: u64) {
        add(&self.errored, n);
    }

    /// The slots that are in flight.
    pub fn slots_in_flight(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().zip(0..).filter(|(entry, _)| entry.io[1].load(Relaxed) != 0).map(|(_, slot)| slot)
    }

    /// The counts so far; whatever is not accounted for is stuck.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let [issued, completed, errored, passed] =
            [&self.issued, &self.completed, &self.errored, &self.passed].map(|counter| counter.load(Relaxed));
        let (issued, completed) = (issued + passed, completed + passed);
        let stuck = issued.saturating_sub(completed + errored);
        Tally { issued, completed, errored, stuck, ..Tally::default() }
    }

    /// What is in flight, the oldest first.
    #[must_use]
    pub fn stuck(&self, now_ns: u64) -> Vec<Stuck> {
        let mut stuck: Vec<Stuck> = self
            .slots_in_flight()
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
        let slot_table = SlotTable::new(3);
        let write = Io::new(Op::Write, u16::MAX, u64::MAX, u32::MAX);
        let flush = Io::flush(Op::Fdatasync, 0);
        let slots = slot_table.slots();
        slots[2].take(write);
        slot_table.intend(2, 90);
        slots[2].issue(100);
        assert_eq!((slots[2].io(), slot_table.intended_ns(2)), (write, 90));
        slots[0].take(flush);
        slots[0].issue(150);
        slot_table.issued(2);
        assert_eq!(slot_table.slots_in_flight().collect::<Vec<_>>(), [0, 2]);
        let ages: Vec<_> = slot_table.stuck(200).iter().map(|s| (s.io, s.age_ns)).collect();
        assert_eq!(ages, [(write, 100), (flush, 50)]);
        let (kind, issue_ns) = slots[2].clear();
        assert_eq!((kind.op(), kind.bytes(), issue_ns), (Op::Write, u32::MAX, 100));
        assert_eq!(slot_table.offset(2), u64::MAX);
        slot_table.completed(1);
        assert_eq!(slot_table.tally(), Tally { issued: 2, completed: 1, stuck: 1, ..Tally::default() });
    }
}
