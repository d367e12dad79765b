//! The requests of a queue: their buffers and what is in flight.

use strata_io::Completion;

/// All requests of one queue.
#[derive(Debug)]
pub(crate) struct Slots {
    busy: Vec<bool>,
    buffers: Vec<u8>,
    stride: usize,
    in_flight: usize,
    pub(crate) ready: Vec<Completion>,
}

impl Slots {
    pub(crate) fn new(depth: u32, block: u32) -> Self {
        let (depth, stride) = (depth as usize, block as usize);
        Self {
            busy: vec![false; depth],
            buffers: vec![0; depth * stride],
            stride,
            in_flight: 0,
            ready: Vec::with_capacity(depth),
        }
    }

    /// Requests that wait for their reply, or for a credit to go.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The slot's whole buffer.
    pub(crate) fn buffer(&mut self, slot: u32) -> &mut [u8] {
        let at = slot as usize * self.stride;
        &mut self.buffers[at..at + self.stride]
    }

    /// The first `len` bytes of the slot's buffer.
    pub(crate) fn payload(&self, slot: u32, len: u32) -> &[u8] {
        let at = slot as usize * self.stride;
        &self.buffers[at..at + len as usize]
    }

    /// Take the slot for a request of `len` bytes.
    pub(crate) fn begin(&mut self, slot: u32, len: u32) {
        assert!(len as usize <= self.stride, "an I/O of {len} bytes in buffers of {}", self.stride);
        let busy = &mut self.busy[slot as usize];
        assert!(!*busy, "slot {slot} was pushed while it is in flight");
        *busy = true;
        self.in_flight += 1;
    }

    /// The request is answered: bytes moved or a negated errno.
    pub(crate) fn finish(&mut self, slot: u32, result: i32) {
        self.busy[slot as usize] = false;
        self.in_flight -= 1;
        self.ready.push(Completion { slot, result });
    }

    /// Nothing will be answered any more: every request in flight ends with `-errno`.
    pub(crate) fn fail_all(&mut self, errno: i32) {
        for slot in 0..self.busy.len() {
            if self.busy[slot] {
                self.finish(slot as u32, -errno);
            }
        }
    }
}
