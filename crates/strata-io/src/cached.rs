//! How much of a file's range the page cache holds.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::error::{Error, Result};
use crate::sys;

/// `cachestat(2)`, Linux 6.5; the same number on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;
/// Bytes mapped at a time on the older way, to keep the answer's vector small.
const WINDOW: u64 = 1 << 30;

/// Resident page-cache bytes of `length` bytes of a file from `offset` (whole pages; at most to its end).
///
/// # Errors
/// The file cannot be opened, or neither `cachestat` nor `mincore` answers.
pub fn cached_bytes(path: &Path, offset: u64, length: u64) -> Result<u64> {
    let fail = |source| Error::new("cannot ask the page cache about", path, source);
    let file = File::open(path).map_err(fail)?;
    let end = offset.saturating_add(length).min(file.metadata().map_err(fail)?.len());
    if end <= offset {
        return Ok(0);
    }
    match by_cachestat(&file, offset, end - offset) {
        Ok(bytes) => Ok(bytes),
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EOPNOTSUPP)) => {
            by_mincore(&file, offset, end).map_err(fail)
        }
        Err(e) => Err(fail(e)),
    }
}

fn by_cachestat(file: &File, offset: u64, length: u64) -> io::Result<u64> {
    let range = [offset, length];
    // struct cachestat: resident, dirty, under writeback, evicted, recently evicted (pages).
    let mut answer = [0u64; 5];
    // SAFETY: both arrays have the layout of the structs the call reads and writes (two and five u64).
    let result = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range.as_ptr(), answer.as_mut_ptr(), 0 as libc::c_uint)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(answer[0] * sys::page_bytes() as u64) }
}

fn by_mincore(file: &File, offset: u64, end: u64) -> io::Result<u64> {
    let page = sys::page_bytes() as u64;
    let (mut at, mut resident) = (offset / page * page, 0);
    while at < end {
        let bytes = (end - at).min(WINDOW) as usize;
        // SAFETY: a new read-only shared mapping; no reference to its memory is ever made.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                at as libc::off_t,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mut pages = vec![0u8; bytes.div_ceil(page as usize)];
        // SAFETY: the mapping spans `bytes`, and the vector has a byte for each of its pages.
        let answered = sys::check(unsafe { libc::mincore(base, bytes, pages.as_mut_ptr()) });
        // SAFETY: the mapping made above.
        unsafe { libc::munmap(base, bytes) };
        answered?;
        resident += pages.iter().filter(|&&state| state & 1 == 1).count() as u64 * page;
        at += bytes as u64;
    }
    Ok(resident)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_see_a_file_just_written() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("cached");
        std::fs::write(&path, vec![7; 5 * 4096])?;
        assert_eq!(cached_bytes(&path, 0, 5 * 4096)?, 5 * 4096);
        assert_eq!(cached_bytes(&path, 4096, 8192)?, 8192);
        assert_eq!(cached_bytes(&path, 1 << 40, 1)?, 0);
        assert_eq!(by_mincore(&File::open(&path)?, 0, 5 * 4096)?, 5 * 4096);
        Ok(())
    }
}
