//! A write cache: acknowledges while there is room, drains in the order of arrival.

use std::collections::VecDeque;

/// What is dirty, and until when.
#[derive(Debug, Default)]
pub struct WriteCache {
    /// Bytes of a write, and when it has drained; ends never go back in time.
    entries: VecDeque<(u64, u64)>,
    bytes: u64,
    last_ns: u64,
}

impl WriteCache {
    fn expire(&mut self, now_ns: u64) {
        while let Some(&(bytes, drained)) = self.entries.front() {
            if drained > now_ns {
                break;
            }
            self.bytes -= bytes;
            self.entries.pop_front();
        }
    }

    /// When `len` bytes find room in a cache of `capacity`; not before an earlier write that waited. A write larger
    /// than the cache waits until it is empty.
    pub fn room_at(&mut self, now_ns: u64, len: u64, capacity: u64) -> u64 {
        self.expire(now_ns);
        let mut at = now_ns;
        let mut dirty = self.bytes;
        for &(bytes, drained) in &self.entries {
            if dirty + len <= capacity {
                break;
            }
            dirty -= bytes;
            at = drained;
        }
        self.last_ns = self.last_ns.max(at);
        self.last_ns
    }

    /// When all of it is on the medium, not before `now_ns`.
    pub fn empty_at(&self, now_ns: u64) -> u64 {
        self.entries.back().map_or(now_ns, |&(_, drained)| drained.max(now_ns))
    }

    /// A write that has drained at `drained_ns`.
    pub fn push(&mut self, len: u64, drained_ns: u64) {
        let drained_ns = self.empty_at(drained_ns);
        self.entries.push_back((len, drained_ns));
        self.bytes += len;
    }

    pub fn dirty_bytes(&mut self, now_ns: u64) -> u64 {
        self.expire(now_ns);
        self.bytes
    }
}
