//! A file or block device as a disk, past the page cache.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Seek, SeekFrom};
use std::os::fd::RawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use strata_io::{AlignSource, DioAlign, beside};

use crate::named::{named, named_as};
use crate::nbd::server::buffers::ALIGN;

/// Zeroes are written in pieces of this many bytes.
const ZERO_PIECE: u32 = 1024 * 1024;

/// An open file, twice: once as asked, and once buffered for what does not fit its alignment.
///
/// The kernel keeps the two coherent (a direct read writes dirty pages back first, a direct write
/// drops them), and both reach the same inode, so one `fdatasync` covers both. A read-modify-write
/// through a bounce buffer would lose concurrent writes to the same block; the second descriptor
/// does not.
#[derive(Debug)]
pub(in crate::nbd::server) struct FileBacking {
    main: File,
    side: Option<File>,
    align: u32,
}

impl FileBacking {
    /// Open `path`, beside the descriptor `fd` where there is one, and tell its size in bytes.
    pub(super) fn open(
        path: &Path,
        fd: Option<RawFd>,
        read_only: bool,
        direct: bool,
    ) -> io::Result<(Self, u64)> {
        let at = beside(path, fd);
        let explain = |error: io::Error, what: &str| {
            named(format_args!("target backing {}: {what}", path.display()), &error)
        };
        let kind = std::fs::metadata(&at).map_err(|e| explain(e, "cannot look at it"))?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            let text =
                format!("target backing {}: neither a regular file nor a block device", path.display());
            return Err(named_as(text, libc::EINVAL));
        }
        let open = |flags: i32| OpenOptions::new().read(true).write(!read_only).custom_flags(flags).open(&at);
        let mut side = open(0).map_err(|e| explain(e, "cannot open it"))?;
        let size_bytes = side.seek(SeekFrom::End(0)).map_err(|e| explain(e, "cannot find its size"))?;
        if !direct {
            return Ok((Self { main: side, side: None, align: 1 }, size_bytes));
        }
        let main = open(libc::O_DIRECT).map_err(|e| {
            explain(
                e,
                "cannot open it with O_DIRECT (ask for direct=false to serve it through the page cache)",
            )
        })?;
        let align = direct_alignment(&main).map_err(|e| explain(e, "cannot serve it with O_DIRECT"))?;
        Ok((Self { main, side: Some(side), align }, size_bytes))
    }

    /// Offsets and lengths that are multiples of this take the main descriptor.
    pub(super) fn align(&self) -> u32 {
        self.align
    }

    fn file_for(&self, at: *const u8, len: usize, offset: u64) -> &File {
        let align = u64::from(self.align);
        match &self.side {
            Some(side) if !(at as u64 | len as u64 | offset).is_multiple_of(align) => side,
            _ => &self.main,
        }
    }

    pub(super) fn read(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        self.file_for(into.as_ptr(), into.len(), offset).read_exact_at(into, offset)
    }

    pub(super) fn write(&self, from: &[u8], offset: u64, fua: bool) -> io::Result<()> {
        let file = self.file_for(from.as_ptr(), from.len(), offset);
        if !fua {
            return file.write_all_at(from, offset);
        }
        let mut done = 0;
        while done < from.len() {
            done += write_dsync(file, &from[done..], offset + done as u64)?;
        }
        Ok(())
    }

    /// Real zeroes, written: a hole or an unwritten extent would read faster than the disk does.
    pub(super) fn write_zeroes(
        &self,
        offset: u64,
        length: u64,
        fua: bool,
        keep_going: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        static ZEROES: Zeroes = Zeroes([0; ZERO_PIECE as usize]);
        let mut done = 0;
        while done < length {
            if !keep_going() {
                return Err(io::Error::from_raw_os_error(libc::ESHUTDOWN));
            }
            let piece = (length - done).min(ZERO_PIECE.into()) as usize;
            self.write(&ZEROES.0[..piece], offset + done, false)?;
            done += piece as u64;
        }
        if fua { self.flush() } else { Ok(()) }
    }

    pub(super) fn flush(&self) -> io::Result<()> {
        self.main.sync_data()
    }
}

/// A source of zeroes with the alignment that O_DIRECT wants (4096, as [`ALIGN`]).
#[repr(align(4096))]
struct Zeroes([u8; ZERO_PIECE as usize]);

/// One write that is durable on return (`RWF_DSYNC`); the bytes written.
fn write_dsync(file: &File, from: &[u8], offset: u64) -> io::Result<usize> {
    match pwritev2(file, &[IoSlice::new(from)], offset, ReadWriteFlags::DSYNC) {
        Ok(0) => Err(io::Error::from(io::ErrorKind::WriteZero)),
        Err(Errno::INTR) => Ok(0),
        other => Ok(other?),
    }
}

/// What direct I/O on `file` must be aligned to, in bytes, as the kernel tells (`statx` DIOALIGN);
/// a kernel or file system that does not tell is taken at 4096, which fits all that are known.
fn direct_alignment(file: &File) -> io::Result<u32> {
    let found = DioAlign::of(file)?;
    if found.source != AlignSource::Statx {
        return Ok(ALIGN as u32);
    }
    if !found.supported {
        return Err(named_as("its file system does no direct I/O; ask for direct=false", libc::EOPNOTSUPP));
    }
    Ok(found.offset.max(found.mem).max(512))
}
