//! How much of a file's range the page cache holds.

use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Advice, fadvise};
use rustix::param::page_size;

use crate::error::{Error, Result};
use crate::mapping::Mapping;
use crate::sys;

/// `cachestat(2)`, Linux 6.5; the same number on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;
/// Bytes mapped at a time on the older way, to keep the answer's vector small.
const WINDOW: u64 = 1 << 30;

/// What the page cache holds of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CacheState {
    /// Bytes in memory, whole pages.
    pub resident: u64,
    /// Bytes of them that are not on the medium yet (dirty or being written); `None` when the kernel does not say.
    pub unwritten: Option<u64>,
}

/// Resident page-cache bytes of `length` bytes of a file or block device from `offset` (whole pages; at most to
/// its end).
///
/// # Errors
/// As [`cache_state`].
pub fn cached_bytes(path: &Path, offset: u64, length: u64) -> Result<u64> {
    Ok(cache_state(path, offset, length)?.resident)
}

/// What the page cache holds of `length` bytes of a file or block device from `offset`.
///
/// # Errors
/// The file cannot be opened, neither `cachestat` nor `mincore` answers, or (`EPERM`) the kernel tells it only to
/// who owns the file or may write to it.
pub fn cache_state(path: &Path, offset: u64, length: u64) -> Result<CacheState> {
    let fail = |source| Error::new("cannot ask the page cache about", path, source);
    let file = File::open(path).map_err(fail)?;
    let end = offset.saturating_add(length).min(size_of(&file).map_err(fail)?);
    if end <= offset {
        return Ok(CacheState { resident: 0, unwritten: Some(0) });
    }
    match by_cachestat(&file, offset, end - offset) {
        Ok(state) => Ok(state),
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EOPNOTSUPP)) => {
            // To others mincore calls every page resident, which is no answer.
            may_know(path, &file).map_err(fail)?;
            let resident = by_mincore(&file, offset, end).map_err(fail)?;
            Ok(CacheState { resident, unwritten: None })
        }
        Err(e) => Err(fail(e)),
    }
}

/// Write out what is dirty of a range and drop its pages from the page cache; the resident bytes that are left.
///
/// Pages that something else holds (a mapping, I/O in flight) stay, and the kernel does not call that an error:
/// only the count says it. So do folios (up to 2 MiB) that reach beyond the range: drop a whole file where you can.
///
/// # Errors
/// The file cannot be opened or written out, the advice is refused, or as [`cache_state`].
pub fn drop_cached(path: &Path, offset: u64, length: u64) -> Result<u64> {
    let fail = |source| Error::new("cannot drop the cached pages of", path, source);
    let file = File::open(path).map_err(fail)?;
    file.sync_data().map_err(fail)?;
    let most = i64::MAX as u64;
    fadvise(&file, offset.min(most), NonZeroU64::new(length.min(most)), Advice::DontNeed)
        .map_err(|e| fail(e.into()))?;
    cached_bytes(path, offset, length)
}

fn size_of(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if metadata.file_type().is_block_device() { sys::device_bytes(file) } else { Ok(metadata.len()) }
}

/// Whether `mincore` tells the truth to this process: the kernel's own condition.
fn may_know(path: &Path, file: &File) -> io::Result<()> {
    let me = rustix::process::geteuid();
    if me.is_root() || file.metadata()?.uid() == me.as_raw() {
        return Ok(());
    }
    match OpenOptions::new().append(true).open(path) {
        Ok(_) => Ok(()),
        Err(_) => Err(io::Error::from_raw_os_error(libc::EPERM)),
    }
}

fn by_cachestat(file: &File, offset: u64, length: u64) -> io::Result<CacheState> {
    let range = [offset, length];
    // struct cachestat: resident, dirty, under writeback, evicted, recently evicted (pages).
    let mut answer = [0u64; 5];
    // SAFETY: both arrays have the layout of the structs the call reads and writes (two and five u64).
    let result = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range.as_ptr(), answer.as_mut_ptr(), 0 as libc::c_uint)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let page = page_size() as u64;
    Ok(CacheState { resident: answer[0] * page, unwritten: Some((answer[1] + answer[2]) * page) })
}

fn by_mincore(file: &File, offset: u64, end: u64) -> io::Result<u64> {
    let page = page_size();
    let (mut at, mut resident) = (offset - offset % page as u64, 0);
    while at < end {
        let bytes = (end - at).min(WINDOW) as usize;
        let pages = Mapping::resident(file.as_raw_fd(), at, bytes, page)?;
        resident += (pages.into_iter().filter(|here| *here).count() * page) as u64;
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
        let page = page_size() as u64;
        std::fs::write(&path, vec![7; 5 * page as usize])?;
        assert_eq!(cached_bytes(&path, 0, 5 * page)?, 5 * page);
        assert_eq!(cached_bytes(&path, page, 2 * page)?, 2 * page);
        assert_eq!(cached_bytes(&path, 1 << 40, 1)?, 0);
        assert_eq!(by_mincore(&File::open(&path)?, 0, 5 * page)?, 5 * page);
        Ok(())
    }
}
