//! What an I/O does that changes its target. The pattern and the loop call all of them writes: which it is, is decided when
//! a queue is made, so that the loop has nothing to ask.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::{IoSlice, ReadWriteFlags, pwrite, pwritev2};
use rustix::io_uring::{IoringOp, io_uring_sqe, len_union, op_flags_union};

use crate::open::Kind;
use crate::queue::Io;

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Put the slot's data there, with these `RWF_…` flags. A kernel that does not know one of them refuses the write with
    /// `EOPNOTSUPP`.
    Write(i32),
}

impl Default for Change {
    fn default() -> Self {
        Self::Write(0)
    }
}

impl Change {
    /// The same at targets of this kind, where each write is to carry these `RWF_…` flags.
    #[must_use]
    pub fn at(self, _kind: Kind, write_flags: i32) -> Self {
        match self {
            Self::Write(_) => Self::Write(write_flags),
        }
    }

    /// Whether the target can do it, as far as it can be asked without changing anything.
    ///
    /// # Errors
    /// The target's own answer, and in words what it means.
    pub fn check(self, _file: &File) -> Result<(), (&'static str, io::Error)> {
        match self {
            Self::Write(_) => Ok(()),
        }
    }

    /// Whether a ring can carry it.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check_ring(self) -> io::Result<()> {
        match self {
            Self::Write(_) => Ok(()),
        }
    }

    /// Make a ring's entry one of I/Os like `io`, whatever their offset. It has the slot's buffer, and is that of a `write`
    /// (which may have registered buffers) already.
    pub(crate) fn enter(self, entry: &mut io_uring_sqe, io: Io, write: IoringOp) {
        match self {
            Self::Write(flags) => {
                entry.opcode = write;
                entry.len = len_union { len: io.len() };
                let rw_flags = ReadWriteFlags::from_bits_retain(flags as u32);
                entry.op_flags = op_flags_union { rw_flags };
            }
        }
    }

    /// Do it with a blocking call at byte `offset`: the bytes that were changed.
    pub(crate) fn call(self, file: BorrowedFd<'_>, data: &[u8], offset: u64) -> rustix::io::Result<usize> {
        match self {
            Self::Write(0) => pwrite(file, data, offset),
            Self::Write(flags) => {
                let flags = ReadWriteFlags::from_bits_retain(flags as u32);
                pwritev2(file, &[IoSlice::new(data)], offset, flags)
            }
        }
    }
}
