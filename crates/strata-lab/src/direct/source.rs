//! What stands behind a file of the directory.

use std::fs::File;
use std::io;

use super::lower::Lower;
use super::remote::Remote;

/// A file below, a part of one, or a file on another node.
#[derive(Debug)]
pub enum Source {
    /// On this machine.
    Here(Lower),
    /// Behind a network.
    There(Remote),
}

impl Source {
    /// Up to `len` bytes from `offset`, fewer at the end of the file.
    pub fn read<'a>(&self, offset: u64, len: u64, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        match self {
            Self::Here(lower) => lower.read(offset, len, buffer),
            Self::There(remote) => remote.read(offset, len, buffer),
        }
    }

    /// All of `data` at `offset`.
    pub fn write(&self, offset: u64, data: &[u8], buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Here(lower) => lower.write(offset, data, buffer),
            Self::There(remote) => remote.write(offset, data, buffer),
        }
    }

    /// Everything written is on the medium.
    pub fn flush(&self) -> io::Result<()> {
        match self {
            Self::Here(lower) => lower.flush(),
            Self::There(remote) => remote.flush(),
        }
    }

    /// The file itself, where its length and its blocks can be changed.
    pub fn whole(&self) -> io::Result<&File> {
        match self {
            Self::Here(lower) => lower.whole(),
            Self::There(_) => Err(io::Error::from_raw_os_error(libc::EPERM)),
        }
    }
}
