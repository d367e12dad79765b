//! One I/O as one system call that returns when it is done.

use std::fs::File;

use rustix::io::{Errno, IoSlice, ReadWriteFlags, pread, pwrite, pwritev2};

use crate::queue::{Io, Op};

/// Do `io` on `file`, again after signals: bytes moved or a negated errno.
///
/// The calls are made without libc, whose cancellation points around a `pread` are longer than the rest of the way.
///
/// # Safety
/// `address` points to `io.len()` bytes that nothing else uses until this returns.
#[inline(always)]
pub unsafe fn transfer(file: &File, address: *mut u8, io: Io, write_flags: i32) -> i32 {
    let (len, offset) = (io.len() as usize, io.offset());
    loop {
        // SAFETY: the caller's promise.
        let buffer = unsafe { std::slice::from_raw_parts_mut(address, len) };
        let moved = match io.op() {
            Op::Read => pread(file, buffer, offset),
            Op::Write if write_flags == 0 => pwrite(file, buffer, offset),
            Op::Write => {
                let flags = ReadWriteFlags::from_bits_retain(write_flags as u32);
                pwritev2(file, &[IoSlice::new(buffer)], offset, flags)
            }
            Op::Fsync => rustix::fs::fsync(file).map(|()| 0),
            Op::Fdatasync => rustix::fs::fdatasync(file).map(|()| 0),
        };
        match moved {
            Ok(moved) => return moved as i32,
            Err(Errno::INTR) => {}
            Err(errno) => return -errno.raw_os_error(),
        }
    }
}
