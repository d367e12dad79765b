//! Anonymous memory as a disk.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

/// A `memfd`: the kernel makes concurrent reads and writes of one byte safe, keeps what was never
/// written sparse, and a copy through it costs one system call more than a plain one.
#[derive(Debug)]
pub(in crate::nbd::server) struct Memory {
    file: File,
}

impl Memory {
    /// `size_bytes` of zeroes.
    pub(super) fn new(size_bytes: u64) -> io::Result<Self> {
        // SAFETY: the name is a valid C string; no other memory is touched.
        let fd = unsafe { libc::memfd_create(c"strata-target".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` is new and owned by nobody else.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len(size_bytes)?;
        Ok(Self { file })
    }

    pub(super) fn read(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    pub(super) fn write(&self, from: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(from, offset)
    }

    /// Give the range's memory back; it reads as zeroes.
    pub(super) fn punch(&self, offset: u64, length: u64) -> io::Result<()> {
        // Ranges lie within the size, which is at most i64::MAX.
        let (offset, length) = (offset as libc::off_t, length as libc::off_t);
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: the descriptor is ours and open; no memory is passed.
        if unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset, length) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}
