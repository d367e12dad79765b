//! One I/O as it is asked for: the value that goes from the pattern through the loop to whatever carries it.

/// What an I/O does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read into the slot's buffer.
    #[default]
    Read,
    /// Write from the slot's buffer.
    Write,
    /// Flush what was written, the file's metadata included. Moves no bytes: its length is 0.
    Fsync,
    /// Flush what was written, and of the metadata only what reading it back needs. Its length is 0.
    Fdatasync,
}

/// One I/O, in two words: the loop moves it about as it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Io {
    offset: u64,
    /// Length (32 bits), target (16), operation (2), and the top bit, which is always set.
    word: u64,
}

const ALWAYS: u64 = 1 << 63;
const TARGET_AT: u32 = 32;
const OP_AT: u32 = 48;

impl Default for Io {
    fn default() -> Self {
        Self::read(0, 0)
    }
}

impl Io {
    /// `op` of `len` bytes at byte `offset` of target number `target` (from 0).
    #[must_use]
    #[inline]
    pub fn new(op: Op, target: u16, offset: u64, len: u32) -> Self {
        Self { offset, word: ALWAYS | (op as u64) << OP_AT | u64::from(target) << TARGET_AT | u64::from(len) }
    }

    /// A read of the first target.
    #[must_use]
    pub fn read(offset: u64, len: u32) -> Self {
        Self::new(Op::Read, 0, offset, len)
    }

    /// A write of the first target.
    #[must_use]
    pub fn write(offset: u64, len: u32) -> Self {
        Self::new(Op::Write, 0, offset, len)
    }

    /// A flush of target number `target`.
    #[must_use]
    pub fn flush(op: Op, target: u16) -> Self {
        Self::new(op, target, 0, 0)
    }

    /// Byte offset at the target.
    #[must_use]
    #[inline]
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// Bytes.
    #[must_use]
    #[inline]
    pub fn len(self) -> u32 {
        self.word as u32
    }

    /// Whether it moves no bytes.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Which of the targets of a workload, counted from 0.
    #[must_use]
    #[inline]
    pub fn target(self) -> u16 {
        (self.word >> TARGET_AT) as u16
    }

    /// What it does.
    #[must_use]
    #[inline]
    pub fn op(self) -> Op {
        match self.word >> OP_AT & 3 {
            0 => Op::Read,
            1 => Op::Write,
            2 => Op::Fsync,
            _ => Op::Fdatasync,
        }
    }

    /// Change where it is.
    #[inline]
    pub fn set_offset(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Change how long it is.
    #[inline]
    pub fn set_len(&mut self, len: u32) {
        *self = Self::new(self.op(), self.target(), self.offset, len);
    }

    /// Change which target it is for.
    #[inline]
    pub fn set_target(&mut self, target: u16) {
        *self = Self::new(self.op(), target, self.offset, self.len());
    }

    /// Change what it does.
    #[inline]
    pub fn set_op(&mut self, op: Op) {
        *self = Self::new(op, self.target(), self.offset, self.len());
    }

    /// Whether they differ in their offset at most.
    #[must_use]
    #[inline]
    pub fn is_like(self, other: Self) -> bool {
        self.word == other.word
    }

    /// Whether it may carry data to the target: every write, and flushes that carry none.
    #[must_use]
    #[inline]
    pub fn may_write(self) -> bool {
        self.word & (Op::Write as u64) << OP_AT != 0
    }

    /// Both words; the second is never 0.
    #[must_use]
    #[inline]
    pub fn to_words(self) -> [u64; 2] {
        [self.offset, self.word]
    }

    /// What [`Self::to_words`] gave.
    #[must_use]
    #[inline]
    pub fn from_words([offset, word]: [u64; 2]) -> Self {
        Self { offset, word }
    }
}

impl std::fmt::Debug for Io {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}+{} of target {}", self.op(), self.offset, self.len(), self.target())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        for op in [Op::Read, Op::Write, Op::Fsync, Op::Fdatasync] {
            for (target, offset, len) in [(0, 0, 0), (u16::MAX, u64::MAX, u32::MAX), (7, 1 << 40, 4096)] {
                let io = Io::from_words(Io::new(op, target, offset, len).to_words());
                assert_eq!((io.op(), io.target(), io.offset(), io.len()), (op, target, offset, len));
                assert_ne!(io.to_words()[1], 0);
            }
        }
    }
}
