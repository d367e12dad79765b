//! What lies behind an export.

mod file;
mod memory;

use std::io;

use self::file::FileBacking;
use self::memory::Memory;
use super::config::BackingConfig;
use super::faults::{FaultConfig, Faulty};
use crate::nbd::codec::{BlockSizes, MAX_PAYLOAD, consts};

/// A disk to serve from; every range was checked against its size before.
#[derive(Debug)]
pub(super) enum Backing {
    /// Zeroes, and a place where writes vanish.
    Null,
    /// Anonymous memory.
    Memory(Memory),
    /// A file or block device.
    File(FileBacking),
    /// Any of them, with faults planted.
    Faulty(Box<Faulty>),
}

/// What a backing can do, for the handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) size_bytes: u64,
    /// Transmission flags that follow from the backing alone.
    pub(super) flags: u16,
    pub(super) blocks: BlockSizes,
}

impl Backing {
    /// Open what `config` names.
    ///
    /// # Errors
    /// It cannot be opened as asked (direct, writable); the text names the path and the next step.
    pub(super) fn open(config: &BackingConfig) -> io::Result<(Self, Facts)> {
        let ram_flags = consts::TX_SEND_TRIM | consts::TX_SEND_WRITE_ZEROES;
        let ram = |size_bytes| Facts { size_bytes, flags: ram_flags, blocks: blocks(1) };
        match config {
            BackingConfig::Null { size_bytes } => Ok((Self::Null, ram(*size_bytes))),
            BackingConfig::Memory { size_bytes, read_only } => {
                let mut facts = ram(*size_bytes);
                facts.flags = if *read_only { consts::TX_READ_ONLY } else { facts.flags };
                Ok((Self::Memory(Memory::new(*size_bytes)?), facts))
            }
            BackingConfig::File { path, fd, read_only, direct } => {
                let (file, size_bytes) = FileBacking::open(path, *fd, *read_only, *direct)?;
                let whole = size_bytes % u64::from(file.align()) == 0;
                let minimum = if whole { file.align() } else { 1 };
                let flags = if *read_only { consts::TX_READ_ONLY } else { consts::TX_SEND_WRITE_ZEROES };
                Ok((Self::File(file), Facts { size_bytes, flags, blocks: blocks(minimum) }))
            }
        }
    }

    /// The same with `faults` planted in it; untouched where there are none.
    pub(super) fn with_faults(self, faults: &[FaultConfig]) -> Self {
        if faults.is_empty() { self } else { Self::Faulty(Box::new(Faulty::new(self, faults.to_vec()))) }
    }

    /// Whether an I/O is a copy in memory, so that the reading thread may do it itself.
    pub(super) fn is_instant(&self) -> bool {
        match self {
            Self::Null | Self::Memory(_) => true,
            Self::File(_) => false,
            Self::Faulty(faulty) => faulty.inner().is_instant(),
        }
    }

    /// Fill `into` from `offset`.
    pub(super) fn read(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Null => {
                into.fill(0);
                Ok(())
            }
            Self::Memory(memory) => memory.read(into, offset),
            Self::File(file) => file.read(into, offset),
            Self::Faulty(faulty) => faulty.read(into, offset),
        }
    }

    /// Write `from` at `offset`; with `fua` it is durable on return.
    pub(super) fn write(&self, from: &[u8], offset: u64, fua: bool) -> io::Result<()> {
        match self {
            Self::Null => Ok(()),
            Self::Memory(memory) => memory.write(from, offset),
            Self::File(file) => file.write(from, offset, fua),
            Self::Faulty(faulty) => faulty.write(from, offset, fua),
        }
    }

    /// Make the range read as zeroes. `keep_going` is asked now and then in long ranges.
    pub(super) fn write_zeroes(
        &self,
        offset: u64,
        length: u64,
        fua: bool,
        keep_going: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        match self {
            Self::Null => Ok(()),
            Self::Memory(memory) => memory.punch(offset, length),
            Self::File(file) => file.write_zeroes(offset, length, fua, keep_going),
            Self::Faulty(faulty) => faulty.inner().write_zeroes(offset, length, fua, keep_going),
        }
    }

    /// The range is not needed any more. Files keep it: a hole would read faster than data.
    pub(super) fn trim(&self, offset: u64, length: u64) -> io::Result<()> {
        match self {
            Self::Null | Self::File(_) => Ok(()),
            Self::Memory(memory) => memory.punch(offset, length),
            Self::Faulty(faulty) => faulty.inner().trim(offset, length),
        }
    }

    /// Everything written before is durable on return.
    pub(super) fn flush(&self) -> io::Result<()> {
        match self {
            Self::Null | Self::Memory(_) => Ok(()),
            Self::File(file) => file.flush(),
            Self::Faulty(faulty) => faulty.inner().flush(),
        }
    }
}

fn blocks(minimum: u32) -> BlockSizes {
    BlockSizes { minimum, preferred: minimum.max(4096), maximum: MAX_PAYLOAD }
}

/// The NBD error number that tells a client of `error`.
pub(super) fn errno_of(error: &io::Error) -> u32 {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::EROFS) => consts::EPERM,
        Some(libc::ENOMEM) => consts::ENOMEM,
        Some(libc::EINVAL) => consts::EINVAL,
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => consts::ENOSPC,
        Some(libc::EOPNOTSUPP) => consts::ENOTSUP,
        Some(libc::ESHUTDOWN) => consts::ESHUTDOWN,
        _ => consts::EIO,
    }
}
