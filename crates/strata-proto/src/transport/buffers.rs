//! The buffers of a queue, and which slot has which.

/// As many buffers of one size as there are slots.
///
/// A slot has a buffer from when it is first asked for until it is given back. A read gives its own back when it is
/// begun and gets one when its first data come: the one that was given back last, which the processor's cache still
/// holds. With a buffer for each slot in its turn, 16 reads of 256 KiB go through 4 MiB, more than most second-level
/// caches; so they go through as many buffers as are filled between two looks of the caller.
#[derive(Debug)]
pub(super) struct Buffers {
    bytes: Box<[u8]>,
    each: usize,
    /// By slot.
    held: Box<[Option<u32>]>,
    spare: Vec<u32>,
}

impl Buffers {
    /// `slots` buffers of `each` bytes of zeroes.
    pub(super) fn new(slots: u32, each: u32) -> Self {
        let (count, each) = (slots as usize, each as usize);
        Self {
            bytes: vec![0; count * each].into(),
            each,
            held: vec![None; count].into(),
            spare: (0..slots).rev().collect(),
        }
    }

    /// Bytes of one buffer.
    pub(super) fn len_of_each(&self) -> usize {
        self.each
    }

    /// The slot's buffer; one with arbitrary old content if it has none.
    pub(super) fn of(&mut self, slot: u32) -> &mut [u8] {
        let held = &mut self.held[slot as usize];
        if held.is_none() {
            *held = self.spare.pop();
        }
        let at = at(*held, self.each);
        &mut self.bytes[at..at + self.each]
    }

    /// The buffer that the slot has.
    pub(super) fn held(&self, slot: u32) -> &[u8] {
        let at = at(self.held[slot as usize], self.each);
        &self.bytes[at..at + self.each]
    }

    /// Take the slot's buffer away from it, if it has one; its content may be gone when it asks again.
    pub(super) fn give_back(&mut self, slot: u32) {
        self.spare.extend(self.held[slot as usize].take());
    }
}

/// Where a buffer begins. There are as many as slots and a slot has one at most, so a slot that asks gets one.
fn at(number: Option<u32>, each: usize) -> usize {
    let Some(number) = number else {
        unreachable!("a slot asked for the bytes of a buffer it does not have")
    };
    number as usize * each
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_can_have_one_and_no_two_the_same() {
        let mut buffers = Buffers::new(4, 8);
        for slot in 0..4 {
            buffers.of(slot).fill(slot as u8 + 1);
        }
        buffers.give_back(2);
        buffers.give_back(0);
        buffers.give_back(0);
        for slot in [2, 0] {
            buffers.of(slot).fill(slot as u8 + 10);
        }
        for (slot, expected) in [(0, 10), (1, 2), (2, 12), (3, 4)] {
            assert_eq!(buffers.held(slot), [expected; 8]);
        }
    }

    #[test]
    fn the_one_given_back_last_is_the_next() {
        let mut buffers = Buffers::new(8, 8);
        (0..8).for_each(|slot| buffers.of(slot).fill(slot as u8));
        (0..8).for_each(|slot| buffers.give_back(slot));
        assert_eq!(buffers.of(3), [7; 8], "it was given back by slot 7");
        for slot in [0, 5, 1] {
            buffers.give_back(3);
            assert_eq!(buffers.of(slot), [7; 8], "one read after the other goes into the same bytes");
            buffers.give_back(slot);
            buffers.of(3);
        }
    }
}
