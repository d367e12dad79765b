//! One I/O as it is asked for: the value that goes from the pattern through the loop to whatever carries it.

/// What an I/O does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read into the slot's buffer.
    #[default]
    Read,
    /// Write from the slot's buffer.
    Write,
    /// Flush what was written, the file's metadata included. Moves no bytes: its `len` is 0.
    Fsync,
    /// Flush what was written, and of the metadata only what reading it back needs. Its `len` is 0.
    Fdatasync,
}

/// One I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// Byte offset at the target.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// Which of the targets of a workload, counted from 0.
    pub target: u16,
    /// What it does.
    pub op: Op,
}

impl Io {
    /// A read of `len` bytes at `offset` of the first target.
    #[must_use]
    pub fn read(offset: u64, len: u32) -> Self {
        Self { offset, len, target: 0, op: Op::Read }
    }

    /// A write of `len` bytes at `offset` of the first target.
    #[must_use]
    pub fn write(offset: u64, len: u32) -> Self {
        Self { op: Op::Write, ..Self::read(offset, len) }
    }
}
