//! The requests of a queue: what is in flight, and in which buffers.

use strata_io::{Completion, Op};

use super::buffers::Buffers;
use super::wire::Answer;

/// One request that may be in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Slot<P> {
    pending: P,
    len: u32,
    /// Told apart from earlier uses of the slot, so that a late or doubled reply finds nothing.
    generation: u32,
    link: usize,
    busy: bool,
    /// Pieces of it that are not on the wire yet. Its buffer is in use until there are none.
    unsent: u32,
}

/// All requests of one queue.
#[derive(Debug)]
pub struct Slots<P> {
    slots: Vec<Slot<P>>,
    buffers: Buffers,
    in_flight: usize,
    /// What came back and was not reaped.
    pub ready: Vec<Completion>,
}

impl<P: Copy + Default> Slots<P> {
    /// `first`: the generation that names begin with. Servers remember requests by their names for a while, also those
    /// of an earlier connection from the same port, so names must not begin alike each time.
    pub fn new(depth: u32, block: u32, first: u32) -> Self {
        Self {
            slots: vec![Slot { generation: first, ..Slot::default() }; depth as usize],
            buffers: Buffers::new(depth, block),
            in_flight: 0,
            ready: Vec::with_capacity(depth as usize),
        }
    }

    /// Requests that wait for their reply.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The slot's whole buffer.
    pub fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.of(slot)
    }

    /// `len` bytes of the slot's buffer from `from`, which a request with a payload has.
    pub fn payload(&self, slot: u32, from: u32, len: u32) -> &[u8] {
        &self.buffers.held(slot)[from as usize..from as usize + len as usize]
    }

    /// `len` bytes of a request's buffer from `at`; the wire bounds both by the request's length.
    pub(super) fn part(&mut self, cookie: u64, at: u32, len: u32) -> &mut [u8] {
        let buffer = self.buffer(slot_of(cookie));
        &mut buffer[at as usize..at as usize + len as usize]
    }

    /// Take the slot for a request of `len` bytes on `link`; its cookie. A read gets a buffer when its data come.
    pub fn begin(&mut self, slot: u32, op: Op, len: u32, link: usize) -> u64 {
        let most = self.buffers.len_of_each();
        assert!(len as usize <= most, "an I/O of {len} bytes in buffers of {most}");
        let entry = &mut self.slots[slot as usize];
        assert!(!entry.busy, "slot {slot} was pushed while it is in flight");
        let generation = entry.generation.wrapping_add(1);
        *entry = Slot { pending: P::default(), len, generation, link, busy: true, unsent: 1 };
        self.in_flight += 1;
        match op {
            Op::Read => self.buffers.give_back(slot),
            Op::Write => _ = self.buffers.of(slot),
            Op::Fsync | Op::Fdatasync => {}
        }
        u64::from(generation) << 32 | u64::from(slot)
    }

    /// What the wire knows of the request in this slot.
    pub(super) fn pending(&mut self, slot: u32) -> &mut P {
        &mut self.slots[slot as usize].pending
    }

    /// A piece of the request is on the wire to its last byte.
    pub(super) fn sent(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        entry.unsent = entry.unsent.saturating_sub(1);
    }

    /// The request is answered.
    pub fn finish(&mut self, slot: u32, answer: Answer) {
        let entry = &mut self.slots[slot as usize];
        entry.busy = false;
        self.in_flight -= 1;
        // Lengths are far below 2 GiB.
        let result = match answer {
            Answer::Whole => entry.len as i32,
            Answer::Part(bytes) => bytes as i32,
            Answer::Failed(errno) => -errno,
        };
        self.ready.push(Completion { slot, result });
    }

    /// An I/O that was never sent ends with `-errno`.
    pub(super) fn refuse(&mut self, slot: u32, errno: i32) {
        self.ready.push(Completion { slot, result: -errno });
    }

    /// Nothing will be answered any more: every request in flight ends with `-errno`.
    pub(super) fn fail_all(&mut self, errno: i32) {
        for (slot, entry) in self.slots.iter_mut().enumerate().filter(|(_, entry)| entry.busy) {
            entry.busy = false;
            self.ready.push(Completion { slot: slot as u32, result: -errno });
        }
        self.in_flight = 0;
    }

    /// The requests of one link, for its wire.
    pub(super) fn of(&mut self, link: usize) -> OfLink<'_, P> {
        OfLink { slots: self, link }
    }
}

/// The slot of a request.
pub(crate) fn slot_of(cookie: u64) -> u32 {
    cookie as u32 // the low half, as `begin` made it
}

/// The requests that are in flight on one link.
pub struct OfLink<'a, P> {
    slots: &'a mut Slots<P>,
    link: usize,
}

impl<P: Copy + Default> OfLink<'_, P> {
    /// The request of `cookie`, if it went out here and is not answered.
    pub(crate) fn pending(&mut self, cookie: u64) -> Option<&mut P> {
        let entry = self.slots.slots.get_mut(slot_of(cookie) as usize)?;
        let same = entry.busy && entry.unsent == 0 && entry.link == self.link;
        (same && u64::from(entry.generation) == cookie >> 32).then_some(&mut entry.pending)
    }

    /// Of the request of `cookie` so many more pieces go out; until they have, no answer to it is taken.
    pub(crate) fn more_to_send(&mut self, cookie: u64, pieces: u32) {
        if let Some(entry) = self.slots.slots.get_mut(slot_of(cookie) as usize) {
            entry.unsent = entry.unsent.saturating_add(pieces);
        }
    }

    /// The cookie of the request in flight here whose name on the wire, [`short_name`], is `name`.
    pub(crate) fn cookie(&mut self, name: u32) -> Option<u64> {
        let slot = name & 0x3FFF;
        let entry = self.slots.slots.get(slot as usize)?;
        let cookie = u64::from(entry.generation) << 32 | u64::from(slot);
        (short_name(cookie) == name && self.pending(cookie).is_some()).then_some(cookie)
    }
}

/// A cookie for protocols that have room for 32 bits: the slot in 14 of them, its generation in the rest, never all
/// ones (a queue has fewer than 2^14 slots).
pub(crate) fn short_name(cookie: u64) -> u32 {
    ((cookie >> 32) as u32) << 14 | slot_of(cookie)
}

/// Deepest queue whose requests [`short_name`] can tell apart.
pub(crate) const SHORT_DEPTH: u32 = (1 << 14) - 1;
