//! Data that neither compresses nor repeats.

use crate::rng::{Rng, splitmix};

/// The smallest block that a device can deduplicate, in bytes.
pub const STAMP_EVERY: usize = 512;

/// Makes the data of each write unlike all data before it, from random bytes that are in the buffer already.
///
/// Every 8 bytes are combined with one fresh value. No block equals an earlier one of the buffer, nor does any run of
/// a few bytes in it, so a compressor that sees many writes of one buffer side by side finds nothing to save.
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

    /// Stamp a buffer (last bytes that are fewer than 8 are left alone).
    #[inline]
    pub fn stamp(&mut self, buffer: &mut [u8]) {
        self.counter = self.counter.wrapping_add(1);
        let fresh = splitmix(self.counter);
        for word in buffer.as_chunks_mut::<8>().0 {
            *word = (u64::from_ne_bytes(*word) ^ fresh).to_ne_bytes();
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
    fn no_four_bytes_repeat_at_their_place() {
        let mut buffer = vec![0; 4096];
        fill_incompressible(&mut buffer, &mut Rng::new(1, 2));
        let (mut stamper, mut seen) = (Stamper::new(9, 0), HashSet::new());
        for _ in 0..200 {
            stamper.stamp(&mut buffer);
            seen.extend(buffer.chunks(4).map(|few| <[u8; 4]>::try_from(few).expect("4 bytes")));
        }
        // Of 204 800 draws from 2^32 about 5 meet by chance.
        assert!(200 * 1024 - seen.len() < 40, "{}", seen.len());
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
