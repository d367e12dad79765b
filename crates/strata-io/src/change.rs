//! What an I/O does that changes its target. The pattern and the loop call all of them writes: which it is, is decided when
//! a queue is made, so that the loop has nothing to ask.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{Errno, IoSlice, ReadWriteFlags, pwrite, pwritev2};

use crate::open::Kind;

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Put the slot's data there, with these `RWF_…` flags. A kernel that does not know one of them refuses the write with
    /// `EOPNOTSUPP`.
    Write(i32),
    /// Discard the blocks there: a hole in a file, `BLKDISCARD` of a device.
    Discard(Kind),
}

impl Default for Change {
    fn default() -> Self {
        Self::Write(0)
    }
}

/// A hole, and the file as long as before.
fn hole() -> FallocateFlags {
    FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE
}

impl Change {
    /// The same at targets of this kind, where each write is to carry these `RWF_…` flags.
    #[must_use]
    pub fn at(self, kind: Kind, write_flags: i32) -> Self {
        match self {
            Self::Write(_) => Self::Write(write_flags),
            Self::Discard(_) => Self::Discard(kind),
        }
    }

    /// Whether the target can do it, as far as it can be asked without changing anything.
    ///
    /// # Errors
    /// The target's own answer, and in words what it means.
    pub fn check(self, file: &File) -> Result<(), (&'static str, io::Error)> {
        let (answer, means) = match self {
            Self::Write(_) => (Ok(()), ""),
            // Behind the end there is nothing to free; who cannot make holes says so first.
            Self::Discard(Kind::File) => (
                fallocate(file, hole(), file.metadata().map_or(0, |found| found.len()), 4096),
                "cannot trim: its file system does not make holes (fallocate, PUNCH_HOLE); choose a file on ext4, XFS, \
                 btrfs or tmpfs, or trim a block device",
            ),
            // Nothing is discarded, which a device that can discard calls invalid.
            Self::Discard(Kind::Block) => (
                discard(file.as_fd(), 0, 0).or_else(|e| if e == Errno::INVAL { Ok(()) } else { Err(e) }),
                "cannot trim: the device does not take discards (BLKDISCARD; lsblk --discard shows which do); choose \
                 another device",
            ),
        };
        answer.map_err(|e| (means, e.into()))
    }

    /// The `RWF_…` flags of a ring's writes.
    ///
    /// # Errors
    /// No ring carries it.
    pub(crate) fn flags_on_a_ring(self) -> io::Result<i32> {
        match self {
            Self::Write(flags) => Ok(flags),
            Self::Discard(_) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "discards are blocking calls (the kernel hands them of a ring to a thread, too)",
            )),
        }
    }

    /// Do it with a blocking call at byte `offset`: the bytes that were changed.
    pub(crate) fn call(self, file: BorrowedFd<'_>, data: &[u8], offset: u64) -> rustix::io::Result<usize> {
        let length = data.len() as u64;
        match self {
            Self::Write(0) => pwrite(file, data, offset),
            Self::Write(flags) => {
                let flags = ReadWriteFlags::from_bits_retain(flags as u32);
                pwritev2(file, &[IoSlice::new(data)], offset, flags)
            }
            Self::Discard(Kind::File) => fallocate(file, hole(), offset, length).map(|()| data.len()),
            Self::Discard(Kind::Block) => discard(file, offset, length).map(|()| data.len()),
        }
    }
}

/// `BLKDISCARD` = `_IO(0x12, 119)`; not in the libc crate.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// Discard `length` bytes of a device from byte `offset` on.
fn discard(device: BorrowedFd<'_>, offset: u64, length: u64) -> rustix::io::Result<()> {
    let range = [offset, length];
    // SAFETY: BLKDISCARD reads two u64 from the address given, which outlive the call.
    match unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD, range.as_ptr()) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}
