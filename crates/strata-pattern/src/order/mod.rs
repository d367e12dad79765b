//! In which order the blocks come.

mod in_turn;
mod uniform;
mod zipf;
mod zones;

pub(crate) use in_turn::{Cursor, Interlocked, Once};
pub(crate) use uniform::Uniform;
pub(crate) use zipf::Zipf;
pub(crate) use zones::Zoned;
pub use zones::{Span, Zone};

use serde::Deserialize;

use crate::blocks::BlockMap;
use crate::io::Io;
use crate::source::Stage;

/// Order of the blocks.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// One after the other through the thread's own part, then from its beginning again.
    Sequential,
    /// Sequential with gaps, or from another beginning in each thread.
    Strided(Stride),
    /// One sequence for all threads together: each takes the block that is next when it takes it.
    Interlocked,
    /// Uniform over all blocks, with replacement: one pass's worth of I/Os touches 63 % of them.
    Random,
    /// In random order, each block once before any comes again; the threads share each pass.
    Once,
    /// Block of rank k with chance proportional to k^−θ; which block has which rank depends on the seed alone, so
    /// that threads share the hot ones. Positive.
    Zipf(f64),
    /// Random, with stated shares of the I/Os for stated pieces of the range.
    Zones(Vec<Zone>),
}

/// A sequence with gaps. All bytes; multiples of the distance between blocks.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Stride {
    /// From the beginning of one I/O to that of the next; `None`: they follow without a gap.
    pub stride: Option<u64>,
    /// From the beginning of one thread's sequence to that of the next thread's. Every sequence ends with the range
    /// and begins again at its own beginning. `None`: each thread has a part of its own.
    pub thread_offset: Option<u64>,
}

/// Chooses the block of each I/O at one target.
pub(crate) trait Pick: Send {
    /// Number of the block where an I/O of `len` bytes begins.
    fn pick(&mut self, map: &BlockMap, len: u32) -> u64;

    /// The offset of each of `ios`, all at the target of `map`.
    fn place(&mut self, map: &BlockMap, ios: &mut [Io]) {
        for io in ios {
            io.set_offset(map.offset(self.pick(map, io.len())));
        }
    }
}

/// Sets the offset: each target has its blocks and what chooses among them.
pub(crate) struct Place<P>(pub Box<[(BlockMap, P)]>);

impl<P: Pick> Stage for Place<P> {
    fn apply(&mut self, ios: &mut [Io]) {
        if let [(map, pick)] = &mut *self.0 {
            return pick.place(map, ios);
        }
        for io in ios {
            let (map, pick) = &mut self.0[usize::from(io.target())];
            io.set_offset(map.offset(pick.pick(map, io.len())));
        }
    }
}
