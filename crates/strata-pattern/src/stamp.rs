//! Data that neither compresses nor repeats.

use crate::rng::{Rng, splitmix};

/// A fresh value is put into each piece of this many bytes, the smallest block a device can deduplicate.
pub const STAMP_EVERY: usize = 512;

/// Makes each write differ from all before it, at 8 bytes in each [`STAMP_EVERY`].
#[derive(Clone, Debug)]
pub struct Stamper {
    counter: u64,
}

impl Stamper {
    /// The stamps of one thread. Values of different threads of a run do not meet before 2^48 of them.
    #[must_use]
    pub fn new(seed: u64, thread: u32) -> Self {
        Self { counter: splitmix(seed).wrapping_add(u64::from(thread) << 48) }
    }

    /// Stamp a buffer: the first 8 bytes of each piece (a last piece shorter than 8 bytes is left alone).
    #[inline]
    pub fn stamp(&mut self, buffer: &mut [u8]) {
        for piece in buffer.chunks_mut(STAMP_EVERY) {
            self.counter = self.counter.wrapping_add(1);
            if let Some(head) = piece.first_chunk_mut::<8>() {
                *head = splitmix(self.counter).to_le_bytes();
            }
        }
    }
}

/// Fill with random bytes.
pub fn fill_incompressible(buffer: &mut [u8], rng: &mut Rng) {
    let (whole, rest) = buffer.as_chunks_mut::<8>();
    whole.iter_mut().for_each(|piece| *piece = rng.bits().to_le_bytes());
    rest.copy_from_slice(&rng.bits().to_le_bytes()[..rest.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_piece_repeats_over_writes_and_threads() {
        let mut seen = HashSet::new();
        let mut buffer = vec![0; 4096];
        fill_incompressible(&mut buffer, &mut Rng::new(1, 2));
        for thread in 0..3 {
            let mut stamper = Stamper::new(9, thread);
            for _ in 0..100 {
                stamper.stamp(&mut buffer);
                assert!(buffer.chunks(STAMP_EVERY).all(|piece| seen.insert(piece.to_vec())));
            }
        }
        assert_eq!(seen.len(), 3 * 100 * 8);
    }

    #[test]
    fn odd_sizes_are_filled_to_the_end() {
        let mut buffer = vec![0; 1021];
        fill_incompressible(&mut buffer, &mut Rng::new(3, 3));
        let distinct: HashSet<u8> = buffer.iter().copied().collect();
        assert!(distinct.len() > 200 && buffer[1016..].iter().any(|&b| b != 0));
        Stamper::new(0, 0).stamp(&mut buffer[..515]);
    }
}
