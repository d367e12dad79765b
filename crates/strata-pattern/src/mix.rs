//! Share of reads.

use crate::io::Op;
use crate::rng::Rng;

/// Share of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Each I/O is a read with this chance in percent, independently.
    ReadPercent(u8),
}

/// Draws directions of a [`Mix`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directions {
    /// A draw of 32 bits below this is a read.
    read_below: u64,
    mixed: bool,
}

impl From<Mix> for Directions {
    fn from(mix: Mix) -> Self {
        let (read_below, mixed) = match mix {
            Mix::Read => (1 << 32, false),
            Mix::Write => (0, false),
            Mix::ReadPercent(percent) => ((u64::from(percent.min(100)) << 32) / 100, true),
        };
        Self { read_below, mixed }
    }
}

impl Directions {
    /// The next direction; takes random bits only where it depends on them.
    #[inline]
    pub fn draw(self, rng: &mut Rng) -> Op {
        let roll = if self.mixed { rng.bits() >> 32 } else { 0 };
        if roll < self.read_below { Op::Read } else { Op::Write }
    }
}
