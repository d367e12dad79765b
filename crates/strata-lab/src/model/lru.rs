//! A read cache: blocks of one size, the least recently used goes first.

use std::collections::HashMap;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    block: u64,
    newer: u32,
    older: u32,
}

/// Which blocks are in the cache; their content is not its business.
#[derive(Debug)]
pub struct ReadCache {
    block_bytes: u64,
    capacity: usize,
    places: HashMap<u64, u32>,
    entries: Vec<Entry>,
    newest: u32,
    oldest: u32,
}

impl Default for ReadCache {
    fn default() -> Self {
        let (places, entries) = (HashMap::new(), Vec::new());
        Self { block_bytes: 1, capacity: 0, places, entries, newest: NONE, oldest: NONE }
    }
}

impl ReadCache {
    /// Another size empties it; the same size leaves it as it is.
    pub fn resize(&mut self, bytes: u64, block_bytes: u64) {
        let capacity = (bytes / block_bytes) as usize;
        if capacity != self.capacity || block_bytes != self.block_bytes {
            *self = Self { block_bytes, capacity, ..Self::default() };
        }
    }

    fn blocks(&self, offset: u64, len: u64) -> std::ops::RangeInclusive<u64> {
        offset / self.block_bytes..=(offset + len.max(1) - 1) / self.block_bytes
    }

    /// Whether every byte is in it; if so, its blocks are the newest now.
    pub fn hit(&mut self, offset: u64, len: u64) -> bool {
        if !self.blocks(offset, len).all(|block| self.places.contains_key(&block)) {
            return false;
        }
        for block in self.blocks(offset, len) {
            self.touch(block);
        }
        true
    }

    /// What was read is in it now.
    pub fn insert(&mut self, offset: u64, len: u64) {
        for block in self.blocks(offset, len) {
            self.touch(block);
        }
    }

    fn touch(&mut self, block: u64) {
        if self.capacity == 0 {
            return;
        }
        let place = if let Some(&place) = self.places.get(&block) {
            self.unlink(place);
            place
        } else if self.entries.len() < self.capacity {
            self.entries.push(Entry { block, newer: NONE, older: NONE });
            self.entries.len() as u32 - 1
        } else {
            let place = self.oldest;
            self.unlink(place);
            self.places.remove(&self.entries[place as usize].block);
            place
        };
        self.places.insert(block, place);
        self.entries[place as usize] = Entry { block, newer: NONE, older: self.newest };
        if self.newest == NONE {
            self.oldest = place;
        } else {
            self.entries[self.newest as usize].newer = place;
        }
        self.newest = place;
    }

    fn unlink(&mut self, place: u32) {
        let Entry { newer, older, .. } = self.entries[place as usize];
        match newer {
            NONE => self.newest = older,
            other => self.entries[other as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            other => self.entries[other as usize].newer = newer,
        }
    }
}
