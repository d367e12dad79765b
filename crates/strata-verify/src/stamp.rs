//! What a written sector looks like: a header that says whose it is, and data that can be recomputed from it.
//!
//! | bytes | holds (little endian) |
//! |---|---|
//! | 0..8 | magic |
//! | 8..16 | XXH3-64 of all that follows |
//! | 16..24 | run |
//! | 24..32 | byte offset at the target at which the sector belongs |
//! | 32..40 | generation of its block |
//! | 40.. | data derived from run, offset and generation |

use strata_pattern::{Rng, fill_incompressible};
use xxhash_rust::xxh3::xxh3_64;

/// First bytes of every stamped sector.
pub const MAGIC: [u8; 8] = *b"STRAVS\x00\x01";
/// Bytes before the data.
pub const HEADER_BYTES: usize = 40;
/// The smallest sector, in bytes.
pub const MIN_SECTOR: u32 = 64;

/// Where the blocks lie and how they are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Told apart from other runs by this.
    pub run: u64,
    /// Byte offset of block 0 at the target.
    pub first_byte: u64,
    /// Bytes of a block, which is written by one I/O.
    pub block_bytes: u32,
    /// Bytes of a sector, which is stamped by itself. Divides the block.
    pub sector_bytes: u32,
}

impl Layout {
    /// Byte offset of block `block`.
    #[must_use]
    pub fn offset(&self, block: u64) -> u64 {
        self.first_byte + block * u64::from(self.block_bytes)
    }

    /// Byte offset of the block that holds `offset`; of what lies before block 0, `offset` itself.
    #[must_use]
    pub fn home(&self, offset: u64) -> u64 {
        match offset.checked_sub(self.first_byte) {
            Some(inside) => offset - inside % u64::from(self.block_bytes),
            None => offset,
        }
    }

    /// Stamp a block's buffer as generation `generation` of the block at `offset`.
    pub fn write(&self, buffer: &mut [u8], offset: u64, generation: u64) {
        for (at, sector) in self.cut(offset).zip(buffer.chunks_exact_mut(self.sector_bytes as usize)) {
            Stamp { run: self.run, offset: at, generation }.write(sector);
        }
    }

    /// Offsets of the sectors of the block at `offset`.
    pub(crate) fn cut(&self, offset: u64) -> impl Iterator<Item = u64> {
        (offset..).step_by(self.sector_bytes as usize)
    }
}

/// What a sector says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Whose it is.
    pub run: u64,
    /// Where it belongs.
    pub offset: u64,
    /// Which write of its block it is part of, from 1.
    pub generation: u64,
}

/// What is in a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sector {
    /// Wholly what its stamp says.
    Valid(Stamp),
    /// It begins like a stamp and its checksum fails.
    Damaged,
    /// Nothing but zeroes.
    Zeroes,
    /// Anything else.
    Unstamped,
}

impl Stamp {
    /// Make a sector.
    pub fn write(&self, sector: &mut [u8]) {
        let (header, data) = sector.split_at_mut(HEADER_BYTES);
        // The header tells sectors of one stream apart; that two streams may meet does no harm.
        fill_incompressible(data, &mut Rng::new(self.run ^ self.generation.rotate_left(32), self.offset));
        header[..8].copy_from_slice(&MAGIC);
        header[16..24].copy_from_slice(&self.run.to_le_bytes());
        header[24..32].copy_from_slice(&self.offset.to_le_bytes());
        header[32..40].copy_from_slice(&self.generation.to_le_bytes());
        let sum = xxh3_64(&sector[16..]);
        sector[8..16].copy_from_slice(&sum.to_le_bytes());
    }

    /// How many bytes of `sector` differ from what this stamp's sector holds, and which is the first.
    #[must_use]
    pub fn difference(&self, sector: &[u8]) -> (u64, usize) {
        let mut right = vec![0; sector.len()];
        self.write(&mut right);
        let mut wrong = right.iter().zip(sector).enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at);
        match wrong.next() {
            Some(first) => (1 + wrong.count() as u64, first),
            None => (0, 0),
        }
    }
}

/// Look at a sector.
#[must_use]
pub fn read(sector: &[u8]) -> Sector {
    let field = |at: usize| {
        sector.get(at..).and_then(|rest| rest.first_chunk()).map(|bytes| u64::from_le_bytes(*bytes))
    };
    let stamped = sector.starts_with(&MAGIC) && sector.len() >= HEADER_BYTES;
    match (field(8), field(16), field(24), field(32)) {
        (Some(sum), Some(run), Some(offset), Some(generation)) if stamped => {
            if sum == xxh3_64(&sector[16..]) {
                Sector::Valid(Stamp { run, offset, generation })
            } else {
                Sector::Damaged
            }
        }
        _ if sector.iter().all(|&byte| byte == 0) => Sector::Zeroes,
        _ => Sector::Unstamped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_sector_says_where_it_belongs(
            run: u64, block in 0u64..1 << 40, generation: u64, sector in prop::sample::select(vec![64u32, 512, 4096]),
        ) {
            let layout = Layout { run, first_byte: 1 << 20, block_bytes: 8192, sector_bytes: sector };
            let offset = layout.offset(block);
            let mut buffer = vec![0; 8192];
            layout.write(&mut buffer, offset, generation);
            for (at, piece) in (0u64..).step_by(sector as usize).zip(buffer.chunks(sector as usize)) {
                let stamp = Stamp { run, offset: offset + at, generation };
                prop_assert_eq!(read(piece), Sector::Valid(stamp));
                prop_assert_eq!(stamp.difference(piece), (0, 0));
                prop_assert_eq!(layout.home(offset + at), offset);
            }
        }

        #[test]
        fn any_changed_bit_is_seen(at in 8usize..512, bit in 0u8..8) {
            let stamp = Stamp { run: 1, offset: 4096, generation: 3 };
            let mut sector = vec![0; 512];
            stamp.write(&mut sector);
            sector[at] ^= 1 << bit;
            prop_assert_eq!(read(&sector), Sector::Damaged);
            prop_assert_eq!(stamp.difference(&sector), (1, at));
        }
    }

    #[test]
    fn what_is_no_stamp_is_not_taken_for_one() {
        assert_eq!(read(&[0; 512]), Sector::Zeroes);
        assert_eq!(read(&[7; 512]), Sector::Unstamped);
        assert_eq!(read(&MAGIC), Sector::Unstamped);
    }
}
