//! Anonymous memory as a disk.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};

/// A `memfd`: the kernel makes concurrent reads and writes of one byte safe, keeps what was never
/// written sparse, and a copy through it costs one system call more than a plain one.
#[derive(Debug)]
pub(in crate::nbd::server) struct Memory {
    file: File,
}

impl Memory {
    /// `size_bytes` of zeroes.
    pub(super) fn new(size_bytes: u64) -> io::Result<Self> {
        let file = File::from(memfd_create(c"strata-target", MemfdFlags::CLOEXEC)?);
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
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(&self.file, mode, offset, length)?)
    }
}
