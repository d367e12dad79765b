//! A file below, or a part of a device, past the page cache wherever a request begins and ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{PoisonError, RwLock};

/// Offsets, lengths and buffers of unbuffered I/O are multiples of this.
pub const ALIGN: u64 = 4096;

/// One file, open.
#[derive(Debug)]
pub struct Lower {
    file: File,
    /// Where it begins, and its length when it is a part of something.
    begin: u64,
    fixed: Option<u64>,
    /// Held alone by a write that reads first; the others may go together.
    turn: RwLock<()>,
}

fn down(offset: u64) -> u64 {
    offset - offset % ALIGN
}

fn up(offset: u64) -> u64 {
    offset.next_multiple_of(ALIGN)
}

/// So many bytes of it that begin at a multiple of [`ALIGN`] in memory.
fn aligned(buffer: &mut Vec<u8>, len: usize) -> &mut [u8] {
    let room = len + ALIGN as usize;
    if buffer.len() < room {
        buffer.resize(room, 0);
    }
    let skip = buffer.as_ptr().align_offset(ALIGN as usize);
    &mut buffer[skip..skip + len]
}

impl Lower {
    /// The file at `path`; with `part` only so many bytes of it from an offset, both multiples of [`ALIGN`].
    ///
    /// Each write is durable when it returns, as a server with write-through has it: the kernel would let one flush of
    /// such a file wait for all writes of it, and them for the flush.
    pub fn open(path: &Path, part: Option<(u64, u64)>) -> io::Result<Self> {
        let flags = libc::O_DIRECT | libc::O_DSYNC;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        let (begin, fixed) = part.map_or((0, None), |(begin, len)| (begin, Some(len)));
        Ok(Self { file, begin, fixed, turn: RwLock::new(()) })
    }

    /// Its length now.
    pub fn size_bytes(&self) -> io::Result<u64> {
        self.fixed.map_or_else(|| Ok(self.file.metadata()?.len()), Ok)
    }

    /// The file itself, unless it is a part.
    pub fn whole(&self) -> io::Result<&File> {
        if self.fixed.is_some() { Err(io::Error::from_raw_os_error(libc::EPERM)) } else { Ok(&self.file) }
    }

    /// Up to `len` bytes from `offset`, fewer at the end of the file.
    pub fn read<'a>(&self, offset: u64, len: u64, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let len = self.fixed.map_or(len, |fixed| len.min(fixed.saturating_sub(offset)));
        let (from, to) = (down(offset), up(offset + len));
        let bytes = aligned(buffer, (to - from) as usize);
        let got = self.fetch(from, bytes)?;
        let skip = (offset - from) as usize;
        let end = got.min(skip + len as usize);
        Ok(&bytes[skip.min(end)..end])
    }

    fn fetch(&self, from: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let mut got = 0;
        while got < bytes.len() {
            match self.file.read_at(&mut bytes[got..], self.begin + from + got as u64) {
                Ok(n) => {
                    got += n;
                    // Anything but whole blocks is the end of the file.
                    if n == 0 || !(n as u64).is_multiple_of(ALIGN) {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(got)
    }

    /// All of `data` at `offset`; the file grows as needed, a part does not.
    pub fn write(&self, offset: u64, data: &[u8], buffer: &mut Vec<u8>) -> io::Result<()> {
        let end = offset + data.len() as u64;
        if self.fixed.is_some_and(|fixed| end > fixed) {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let (from, to) = (down(offset), up(end));
        let bytes = aligned(buffer, (to - from) as usize);
        if (from, to) == (offset, end) {
            let _together = self.turn.read().unwrap_or_else(PoisonError::into_inner);
            bytes.copy_from_slice(data);
            return self.file.write_all_at(bytes, self.begin + from);
        }
        let _alone = self.turn.write().unwrap_or_else(PoisonError::into_inner);
        let size = self.size_bytes()?;
        let got = self.fetch(from, bytes)?;
        bytes[got..].fill(0);
        let skip = (offset - from) as usize;
        bytes[skip..skip + data.len()].copy_from_slice(data);
        self.file.write_all_at(bytes, self.begin + from)?;
        // The last block was written whole.
        if self.fixed.is_none() && to > size.max(end) {
            self.file.set_len(size.max(end))?;
        }
        Ok(())
    }

    /// Everything written is on the medium: the data, and of the inode what reading it back takes.
    pub fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> (std::path::PathBuf, Lower) {
        // Beside the build: the directory for temporary files may be memory, which knows no unbuffered I/O.
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../target/{name}-{}", std::process::id()));
        File::create_new(&path).unwrap();
        let lower = Lower::open(&path, None).unwrap();
        (path, lower)
    }

    #[test]
    fn what_is_not_aligned_is_written_and_read_back_and_the_rest_stays() {
        let (path, lower) = file("direct-odd");
        let mut buffer = Vec::new();
        lower.write(0, &[1; 8192], &mut buffer).unwrap();
        lower.write(4000, &[2; 300], &mut buffer).unwrap();
        lower.write(8000, &[3; 1000], &mut buffer).unwrap();
        let mut expected = vec![1; 9000];
        expected[4000..4300].fill(2);
        expected[8000..9000].fill(3);
        let size = lower.size_bytes().unwrap();
        let read = lower.read(0, 1 << 20, &mut buffer).unwrap().to_vec();
        let middle = lower.read(4001, 298, &mut buffer).unwrap().to_vec();
        let behind = lower.read(9000, 10, &mut buffer).unwrap().len();
        std::fs::remove_file(path).unwrap();
        assert_eq!((size, read, middle, behind), (9000, expected, vec![2; 298], 0));
    }

    #[test]
    fn a_part_begins_where_told_and_does_not_grow() {
        let (path, whole) = file("direct-part");
        let mut buffer = Vec::new();
        whole.write(0, &[7; 16384], &mut buffer).unwrap();
        let part = Lower::open(&path, Some((4096, 8192))).unwrap();
        part.write(4096, &[9; 4096], &mut buffer).unwrap();
        let refused = part.write(8192, &[9; 1], &mut buffer).map_err(|e| e.raw_os_error());
        let read = part.read(4000, 1 << 20, &mut buffer).unwrap().to_vec();
        let below = whole.read(8192, 4096, &mut buffer).unwrap().to_vec();
        std::fs::remove_file(path).unwrap();
        assert_eq!(refused, Err(Some(libc::ENOSPC)));
        assert_eq!((read.len(), below), (4192, vec![9; 4096]));
        assert_eq!(read[..96], [7; 96]);
    }
}
