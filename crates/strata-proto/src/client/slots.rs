//! The requests of a queue: their buffers and what is in flight.

use strata_io::{Completion, Op};

use crate::codec::{Lookup, Pending, consts};

/// One request that may be in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    pending: Pending,
    len: u32,
    /// Told apart from earlier uses of the slot, so that a late or doubled reply finds nothing.
    generation: u32,
    link: usize,
    busy: bool,
    sent: bool,
}

/// All requests of one queue.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    buffers: Vec<u8>,
    stride: usize,
    in_flight: usize,
    pub(super) ready: Vec<Completion>,
}

impl Slots {
    pub(super) fn new(depth: u32, block: u32) -> Self {
        let (depth, stride) = (depth as usize, block as usize);
        Self {
            slots: vec![Slot::default(); depth],
            buffers: vec![0; depth * stride],
            stride,
            in_flight: 0,
            ready: Vec::with_capacity(depth),
        }
    }

    /// Requests that wait for their reply.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The slot's whole buffer.
    pub(super) fn buffer(&mut self, slot: u32) -> &mut [u8] {
        let at = slot as usize * self.stride;
        &mut self.buffers[at..at + self.stride]
    }

    /// The first `len` bytes of the slot's buffer.
    pub(super) fn payload(&self, slot: u32, len: u32) -> &[u8] {
        let at = slot as usize * self.stride;
        &self.buffers[at..at + len as usize]
    }

    /// `len` bytes of a request's buffer from `at`; [`Pending`] bounds both.
    pub(super) fn part(&mut self, cookie: u64, at: u32, len: u32) -> &mut [u8] {
        let buffer = self.buffer(slot_of(cookie));
        &mut buffer[at as usize..at as usize + len as usize]
    }

    /// Take the slot for a request on `link`; its cookie.
    pub(super) fn begin(&mut self, slot: u32, op: Op, offset: u64, len: u32, link: usize) -> u64 {
        assert!(len as usize <= self.stride, "an I/O of {len} bytes in buffers of {}", self.stride);
        let entry = &mut self.slots[slot as usize];
        assert!(!entry.busy, "slot {slot} was pushed while it is in flight");
        let generation = entry.generation.wrapping_add(1);
        let read_len = if op == Op::Read { len } else { 0 };
        let pending = Pending { read_len, offset, got: 0, error: 0 };
        *entry = Slot { pending, len, generation, link, busy: true, sent: false };
        self.in_flight += 1;
        u64::from(generation) << 32 | u64::from(slot)
    }

    /// The request is on the wire to its last byte.
    pub(super) fn sent(&mut self, slot: u32) {
        self.slots[slot as usize].sent = true;
    }

    /// The request is answered: 0 or an NBD error number.
    pub(super) fn finish(&mut self, cookie: u64, error: u32) {
        let slot = slot_of(cookie);
        let entry = &mut self.slots[slot as usize];
        entry.busy = false;
        self.in_flight -= 1;
        // Lengths are at most MAX_PAYLOAD.
        let result = if error == 0 { entry.len as i32 } else { -errno_of(error) };
        self.ready.push(Completion { slot, result });
    }

    /// Nothing will be answered any more: every request in flight ends with `-errno`.
    pub(super) fn fail_all(&mut self, errno: i32) {
        for (slot, entry) in self.slots.iter_mut().enumerate().filter(|(_, entry)| entry.busy) {
            entry.busy = false;
            self.ready.push(Completion { slot: slot as u32, result: -errno });
        }
        self.in_flight = 0;
    }

    /// The requests of one link, for its reply machine.
    pub(super) fn of(&mut self, link: usize) -> OfLink<'_> {
        OfLink { slots: self, link }
    }
}

fn slot_of(cookie: u64) -> u32 {
    cookie as u32 // the low half, as `begin` made it
}

/// NBD's error numbers are Linux's; one that cannot be an errno is an I/O error.
fn errno_of(error: u32) -> i32 {
    match i32::try_from(error) {
        Ok(errno @ 1..=4095) => errno,
        _ => consts::EIO as i32,
    }
}

/// The requests that are in flight on one link.
pub(super) struct OfLink<'a> {
    slots: &'a mut Slots,
    link: usize,
}

impl Lookup for OfLink<'_> {
    fn pending(&mut self, cookie: u64) -> Option<&mut Pending> {
        let entry = self.slots.slots.get_mut(slot_of(cookie) as usize)?;
        let same = entry.busy && entry.sent && entry.link == self.link;
        (same && u64::from(entry.generation) == cookie >> 32).then_some(&mut entry.pending)
    }
}
