//! A medium that works in whole blocks: what an I/O costs that does not begin or end at one.

use super::member::IoPart;
use super::truth::BlockTruth;
use super::{Op, Params};

/// What a part of an I/O becomes at the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Its first block's first byte.
    pub offset: u64,
    /// Bytes of all blocks it touches.
    pub len: u64,
    /// Whether it touches one block more than its length needs.
    pub straddles: bool,
    /// The blocks that a write covers in part, by their first byte: they are read before.
    pub partial: [Option<u64>; 2],
}

impl Whole {
    /// Of a part; where the medium has no blocks, the part as it is.
    pub fn of(op: Op, offset: u64, len: u64, p: &Params) -> Self {
        let block = p.block;
        if block == 0 || len == 0 {
            return Self { offset, len, straddles: false, partial: [None; 2] };
        }
        let first = offset / block * block;
        let end = (offset + len).next_multiple_of(block);
        let mut partial = [None; 2];
        if op == Op::Write {
            let last = end - block;
            partial[0] = (offset != first).then_some(first);
            // One block that is cut at both ends is read once.
            partial[1] = (offset + len != end && partial[0] != Some(last)).then_some(last);
        }
        let straddles = end - first > len.next_multiple_of(block);
        Self { offset: first, len: end - first, straddles, partial }
    }

    /// How many blocks are read before the write.
    pub fn before(&self) -> u64 {
        self.partial.iter().flatten().count() as u64
    }

    /// The job in whole blocks.
    pub fn job(&self, job: &IoPart) -> IoPart {
        IoPart { offset: self.offset, len: self.len, ..*job }
    }

    /// Into the exact counts; `rmw_ns` is what reading before writing took.
    pub fn count(&self, op: Op, rmw_ns: u64, p: &Params, truth: &mut BlockTruth) {
        if p.block == 0 {
            return;
        }
        let before = self.before();
        truth.rmw.n += before;
        truth.rmw.ns += rmw_ns;
        truth.read += before;
        *(if op == Op::Read { &mut truth.read } else { &mut truth.written }) += self.len / p.block;
        truth.straddled += u64::from(self.straddles);
    }
}
