//! The content: a sparse file in memory, or one that was named. What was never written reads as zeros.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};

/// A file of fixed size.
#[derive(Debug)]
pub struct Store {
    file: File,
    size_bytes: u64,
}

impl Store {
    /// In memory without a path; a file at the path is made as long as told, and what it holds is kept.
    pub fn open(size_bytes: u64, backing: Option<&Path>) -> io::Result<Self> {
        let file = match backing {
            None => File::from(memfd_create("strata-lab-disk", MemfdFlags::CLOEXEC)?),
            Some(path) => {
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?
            }
        };
        if backing.is_none() || file.metadata()?.len() < size_bytes {
            file.set_len(size_bytes)?;
        }
        Ok(Self { file, size_bytes })
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// How many of `len` bytes lie before the end.
    pub fn within(&self, offset: u64, len: u64) -> u64 {
        len.min(self.size_bytes.saturating_sub(offset))
    }

    /// The bytes into `buffer`, which is made as long as they are.
    pub fn read(&self, offset: u64, len: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.resize(len as usize, 0);
        self.file.read_exact_at(buffer, offset)
    }

    pub fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Zeros, and no memory held for them.
    pub fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        let len = self.within(offset, len);
        if len > 0 {
            fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, len)?;
        }
        Ok(())
    }

    /// Blocks of 512 bytes that hold something.
    pub fn blocks(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        self.file.metadata().map_or(0, |m| m.blocks())
    }
}
