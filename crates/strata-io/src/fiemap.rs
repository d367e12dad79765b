//! Where a file's bytes lie on the device under it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::StatxFlags;

use crate::error::{Error, Result};
use crate::sys;

/// `FS_IOC_FIEMAP` = `_IOWR('f', 11, struct fiemap)` with a head of 32 bytes.
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;
/// Write dirty data out first, so that delayed allocation is over.
const FLAG_SYNC: u32 = 1;
const EXTENT_LAST: u32 = 1;
/// Extents asked for at a time.
const BATCH: usize = 256;

/// Names of the extent flags that matter to who reads the device directly.
const NAMES: [(u32, &str); 10] = [
    (0x2, "unknown"),
    (0x4, "delalloc"),
    (0x8, "encoded"),
    (0x80, "data_encrypted"),
    (0x100, "not_aligned"),
    (0x200, "inline"),
    (0x400, "tail"),
    (0x800, "unwritten"),
    (0x1000, "merged"),
    (0x2000, "shared"),
];

/// One extent, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Extent {
    /// Offset in the file.
    pub logical: u64,
    /// Offset at the device.
    pub physical: u64,
    /// Length.
    pub length: u64,
    /// What is special about it.
    pub flags: Vec<&'static str>,
}

/// A file's extents and the device they are on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FileMap {
    /// Device number of the file system, `major:minor`.
    pub device: String,
    /// Extents in logical order; holes are absent.
    pub extents: Vec<Extent>,
}

#[repr(C)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [RawExtent; BATCH],
}

/// Ask for all extents of a regular file, after its data has been written out.
///
/// # Errors
/// The file cannot be opened or synced, or its file system has no such map (`EOPNOTSUPP`).
pub fn fiemap(path: &Path) -> Result<FileMap> {
    let fail = |source| Error::new("cannot map the extents of", path, source);
    let file = File::open(path).map_err(fail)?;
    file.sync_all().map_err(fail)?;
    let stat = sys::statx(&file, StatxFlags::empty()).map_err(fail)?;
    let device = format!("{}:{}", stat.stx_dev_major, stat.stx_dev_minor);
    let (mut extents, mut start) = (Vec::new(), 0);
    loop {
        // SAFETY: plain integers, for which all zeros is a valid value.
        let mut request: Box<Request> = Box::new(unsafe { std::mem::zeroed() });
        (request.start, request.length) = (start, u64::MAX - start);
        (request.flags, request.count) = (FLAG_SYNC, BATCH as u32);
        // SAFETY: the struct has the kernel's layout, with room for `count` extents behind the head.
        sys::check(unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *request) })
            .map_err(fail)?;
        let found = &request.extents[..(request.mapped as usize).min(BATCH)];
        extents.extend(found.iter().map(|e| Extent {
            logical: e.logical,
            physical: e.physical,
            length: e.length,
            flags: NAMES.iter().filter(|(bit, _)| e.flags & bit != 0).map(|&(_, name)| name).collect(),
        }));
        match found.last() {
            Some(last) if last.flags & EXTENT_LAST == 0 => start = last.logical + last.length,
            _ => return Ok(FileMap { device, extents }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!(std::mem::size_of::<RawExtent>(), 56);
        assert_eq!(std::mem::offset_of!(Request, extents), 32);
    }
}
