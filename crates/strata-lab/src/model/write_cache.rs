//! A write cache: acknowledges while there is room, drains in the order of arrival.

use std::collections::VecDeque;

/// An acknowledged write that nothing has been done for yet.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    pub since_ns: u64,
    pub offset: u64,
    pub len: u64,
}

/// What is dirty: first what has its time of draining, then what waits for the medium to be idle.
#[derive(Debug, Default)]
pub struct WriteCache {
    /// Bytes of a write, and when it has drained; ends never go back in time.
    draining: VecDeque<(u64, u64)>,
    pending: VecDeque<Pending>,
    bytes: u64,
    last_ns: u64,
}

impl WriteCache {
    fn expire(&mut self, now_ns: u64) {
        while let Some(&(bytes, drained)) = self.draining.front() {
            if drained > now_ns {
                break;
            }
            self.bytes -= bytes;
            self.draining.pop_front();
        }
    }

    /// When `len` bytes find room in a cache of `capacity`; not before an earlier write that waited. `None`: not before
    /// something that is pending has drained. A write larger than the cache waits until it is empty.
    pub fn room_at(&mut self, now_ns: u64, len: u64, capacity: u64) -> Option<u64> {
        self.expire(now_ns);
        let mut at = now_ns;
        let mut dirty = self.bytes;
        for &(bytes, drained) in &self.draining {
            if dirty + len <= capacity {
                break;
            }
            dirty -= bytes;
            at = drained;
        }
        if dirty > 0 && dirty + len > capacity {
            return None;
        }
        self.last_ns = self.last_ns.max(at);
        Some(self.last_ns)
    }

    /// When all that drains is on the medium, not before `now_ns`.
    pub fn drained_at(&self, now_ns: u64) -> u64 {
        self.draining.back().map_or(now_ns, |&(_, drained)| drained.max(now_ns))
    }

    /// A write whose time of draining is known.
    pub fn drains(&mut self, len: u64, drained_ns: u64) {
        self.bytes += len;
        self.draining.push_back((len, self.drained_at(drained_ns)));
    }

    /// A write that waits for the medium.
    pub fn waits(&mut self, write: Pending) {
        self.bytes += write.len;
        self.pending.push_back(write);
    }

    /// The one that drains next.
    pub fn next(&self) -> Option<Pending> {
        self.pending.front().copied()
    }

    /// The next one has drained at `drained_ns`.
    pub fn next_drains(&mut self, drained_ns: u64) {
        if let Some(write) = self.pending.pop_front() {
            self.draining.push_back((write.len, self.drained_at(drained_ns)));
        }
    }

    pub fn dirty_bytes(&mut self, now_ns: u64) -> u64 {
        self.expire(now_ns);
        self.bytes
    }
}
