//! System calls on open files, in the form in which they are asked here.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};

use rustix::fs::{AtFlags, Statx, StatxFlags, ioctl_blkpbszget, ioctl_blksszget};

pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Size of a block device in bytes: where it ends. All I/O here says itself where it is.
pub fn device_bytes(mut file: &File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}

/// Logical and physical block of a block device in bytes.
pub fn device_blocks(file: &File) -> io::Result<(u32, u32)> {
    Ok((ioctl_blksszget(file)?, ioctl_blkpbszget(file)?))
}

/// `statx` of an open file, with the fields in `mask` besides the basic ones.
pub fn statx(file: &File, mask: StatxFlags) -> io::Result<Statx> {
    Ok(rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | mask)?)
}
