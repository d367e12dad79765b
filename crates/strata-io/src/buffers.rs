//! One page-aligned area of memory, cut into slots.

use std::io;

use rustix::param::page_size;

use crate::mapping::Mapping;

/// The buffers of all slots of a queue: one anonymous mapping, faulted in when made.
#[derive(Debug)]
pub struct Buffers {
    memory: Mapping,
    slots: u32,
    stride: usize,
    slot_bytes: usize,
}

impl Buffers {
    /// `slots` buffers of `slot_bytes` each, each beginning at a page and at a multiple of `align` (a power of two).
    ///
    /// # Errors
    /// The size overflows or the system refuses the memory.
    pub fn new(slots: u32, slot_bytes: usize, align: u32) -> io::Result<Self> {
        let step = page_size();
        if align as usize > step {
            return Err(io::Error::other(format!(
                "no buffer can be aligned to {align} bytes, a page is {step}"
            )));
        }
        let slots = slots.max(1);
        let stride = slot_bytes.max(1).checked_next_multiple_of(step).ok_or(io::ErrorKind::OutOfMemory)?;
        let bytes = stride.checked_mul(slots as usize).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { memory: Mapping::anonymous(bytes)?, slots, stride, slot_bytes })
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Usable bytes of each slot.
    #[must_use]
    #[inline]
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Address of a slot.
    #[inline]
    #[must_use]
    pub fn address(&self, slot: u32) -> *mut u8 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        self.memory.at::<u8>(slot as usize * self.stride).as_ptr()
    }

    /// A slot's bytes. The caller sees to it that no I/O is using them.
    #[inline]
    pub fn slot(&mut self, slot: u32) -> &mut [u8] {
        let slot_bytes = self.slot_bytes;
        // SAFETY: `address` checks the slot, slot_bytes <= stride, and &mut self makes the borrow unique.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), slot_bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_and_apart() {
        let mut buffers = Buffers::new(3, 5000, 512).expect("memory");
        for slot in 0..3 {
            assert_eq!(buffers.address(slot) as usize % 4096, 0);
            buffers.slot(slot).fill(slot as u8 + 1);
        }
        assert!((0..3).all(|slot| buffers.slot(slot).iter().all(|&b| b == slot as u8 + 1)));
        assert!(Buffers::new(u32::MAX, usize::MAX / 2, 512).is_err());
        assert!(Buffers::new(1, 1, 1 << 30).is_err());
    }

    #[test]
    #[should_panic(expected = "slot 3 of 3")]
    fn a_wrong_slot_is_stopped() {
        Buffers::new(3, 512, 512).expect("memory").slot(3);
    }
}
