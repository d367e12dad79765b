//! A file on another node, over NBD or SMB: what a kernel's client of a share would be.

use std::io;
use std::sync::Mutex;

use strata_io::{Io, Queue};
use strata_pattern::Op;
use strata_proto::lock::lock;
use strata_proto::nbd::{self, NbdQueue};
use strata_smb::{self as smb, SmbQueue};

/// The longest request that goes out whole.
const LONGEST: u32 = 1 << 20;

/// One file behind a network; each request under way has a connection of its own.
#[derive(Debug)]
pub struct Remote {
    address: Address,
    size_bytes: u64,
    idle: Mutex<Vec<Link>>,
}

#[derive(Debug)]
enum Address {
    Nbd(Box<nbd::Uri>),
    Smb(Box<smb::Uri>),
}

#[derive(Debug)]
enum Link {
    Nbd(Box<NbdQueue>),
    Smb(Box<SmbQueue>),
}

impl Link {
    fn dial(address: &Address) -> io::Result<Self> {
        let (depth, block, connections) = (1, LONGEST, 1);
        match address {
            Address::Nbd(uri) => {
                let spec = nbd::OpenSpec { depth, block, connections, dsync: false };
                Ok(Self::Nbd(Box::new(NbdQueue::open(uri, spec)?)))
            }
            Address::Smb(uri) => {
                let spec = smb::OpenSpec { depth, block, connections, write: true, ..Default::default() };
                Ok(Self::Smb(Box::new(SmbQueue::open(uri, spec)?)))
            }
        }
    }

    fn size_bytes(&self) -> u64 {
        match self {
            Self::Nbd(queue) => queue.export().size_bytes,
            Self::Smb(queue) => queue.size_bytes(),
        }
    }

    fn carry(&mut self, io: Io, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Nbd(queue) => carry(queue.as_mut(), io, bytes),
            Self::Smb(queue) => carry(queue.as_mut(), io, bytes),
        }
    }
}

/// One I/O from its push to its answer; so many bytes were moved.
fn carry(queue: &mut impl Queue, io: Io, bytes: &mut [u8]) -> io::Result<usize> {
    if io.op() == Op::Write {
        queue.buffer(0)[..bytes.len()].copy_from_slice(bytes);
    }
    queue.push(0, io);
    let mut answer = None;
    while answer.is_none() {
        queue.submit(1, None)?;
        queue.reap(|completion| answer = Some(completion.result));
    }
    let moved = answer.unwrap_or(0);
    let moved = usize::try_from(moved).map_err(|_| io::Error::from_raw_os_error(-moved))?;
    if io.op() == Op::Read {
        bytes[..moved].copy_from_slice(&queue.buffer(0)[..moved]);
    }
    Ok(moved)
}

impl Remote {
    /// Connects once, to know its size. `uri`: `nbd://…` or `smb://…`.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for an address that cannot be read; else the client's, with the address.
    pub fn open(uri: &str) -> io::Result<Self> {
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let address = if uri.starts_with("smb:") {
            Address::Smb(Box::new(uri.parse().map_err(|error| invalid(format!("{error}")))?))
        } else {
            Address::Nbd(Box::new(uri.parse().map_err(|error| invalid(format!("{error}")))?))
        };
        let first = Link::dial(&address)?;
        Ok(Self { size_bytes: first.size_bytes(), idle: Mutex::new(vec![first]), address })
    }

    /// Its length when it was opened; it does not grow.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn with<T>(&self, f: impl FnOnce(&mut Link) -> io::Result<T>) -> io::Result<T> {
        let idle = lock(&self.idle).pop();
        let mut link = idle.map_or_else(|| Link::dial(&self.address), Ok)?;
        // One whose I/O failed is given up: an answer may still be on its way.
        let done = f(&mut link)?;
        lock(&self.idle).push(link);
        Ok(done)
    }

    fn pieces(&self, op: Op, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        self.with(|link| {
            let mut done = 0;
            for piece in bytes.chunks_mut(LONGEST as usize) {
                let (at, len) = (offset + done as u64, piece.len() as u32);
                let io = if op == Op::Write { Io::write(at, len) } else { Io::read(at, len) };
                let moved = link.carry(io, piece)?;
                done += moved;
                if moved < piece.len() {
                    break;
                }
            }
            Ok(done)
        })
    }

    /// Up to `len` bytes from `offset`, fewer at the end of the file.
    pub fn read<'a>(&self, offset: u64, len: u64, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let len = len.min(self.size_bytes.saturating_sub(offset)) as usize;
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        let got = if len == 0 { 0 } else { self.pieces(Op::Read, offset, &mut buffer[..len])? };
        Ok(&buffer[..got])
    }

    /// All of `data` at `offset`.
    pub fn write(&self, offset: u64, data: &[u8], buffer: &mut Vec<u8>) -> io::Result<()> {
        if offset + data.len() as u64 > self.size_bytes {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        buffer.clear();
        buffer.extend_from_slice(data);
        if self.pieces(Op::Write, offset, buffer)? < data.len() {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(())
    }

    /// Everything written is on the medium, as far as the server says so.
    pub fn flush(&self) -> io::Result<()> {
        self.with(|link| link.carry(Io::flush(Op::Fsync, 0), &mut [])).map(drop)
    }
}
