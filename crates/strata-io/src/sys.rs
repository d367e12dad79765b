//! Thin, checked wrappers of system calls that the standard library does not have.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `BLKGETSIZE64` = `_IOR(0x12, 114, size_t)`; not in the libc crate.
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272;

pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Size of a block device in bytes.
pub fn device_bytes(file: &File) -> io::Result<u64> {
    let mut bytes = 0u64;
    // SAFETY: BLKGETSIZE64 writes one u64 to the address given, which outlives the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut bytes) })?;
    Ok(bytes)
}

/// Logical and physical block of a block device in bytes.
pub fn device_blocks(file: &File) -> io::Result<(u32, u32)> {
    let (mut logical, mut physical) = (0 as libc::c_int, 0 as libc::c_uint);
    // SAFETY: both requests write one 32-bit integer to the address given.
    unsafe {
        check(libc::ioctl(file.as_raw_fd(), libc::BLKSSZGET, &raw mut logical))?;
        check(libc::ioctl(file.as_raw_fd(), libc::BLKPBSZGET, &raw mut physical))?;
    }
    Ok((logical as u32, physical))
}

/// `statx` of an open file, with the fields in `mask` besides the basic ones.
pub fn statx(file: &File, mask: libc::c_uint) -> io::Result<libc::statx> {
    // SAFETY: statx is plain data, for which all zeros is a valid value.
    let mut stat: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, the path is an empty C string, and `stat` is large enough by type.
    check(unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_BASIC_STATS | mask,
            &raw mut stat,
        )
    })?;
    Ok(stat)
}

/// The open flags in force.
pub fn open_flags(file: &File) -> io::Result<libc::c_int> {
    // SAFETY: F_GETFL takes no argument and touches no memory of ours.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) })
}

/// Bytes of a page.
pub fn page_bytes() -> usize {
    // SAFETY: sysconf reads a constant.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}
