//! I/Os as system calls that return when they are done.
//!
//! The calls are made without libc, whose cancellation points around a `pread` are longer than the rest of the way.

use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::{Errno, pread};

use crate::change::Change;
use crate::queue::Op;

/// All of an I/O but its offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransferArgs {
    pub file: RawFd,
    /// Of the buffer.
    pub address: *mut u8,
    pub len: usize,
    pub op: Op,
    /// What a write does.
    pub change: Change,
}

// SAFETY: an address of memory that its owner keeps; who transfers promises that nothing else uses it then.
unsafe impl Send for TransferArgs {}

impl TransferArgs {
    /// Do it at byte `offset`, again after signals: bytes moved or a negated errno.
    ///
    /// # Safety
    /// `file` is open, and `address` points to `len` bytes that nothing else uses until this returns.
    #[inline(always)]
    pub unsafe fn transfer(&self, offset: u64) -> i32 {
        loop {
            let moved = if self.op == Op::Read {
                // SAFETY: the caller's promise.
                let (file, buffer) = unsafe { (BorrowedFd::borrow_raw(self.file), self.buffer()) };
                pread(file, buffer, offset)
            } else {
                // SAFETY: the caller's promise.
                unsafe { self.change(offset) }
            };
            let result = moved.map_or_else(|errno| -errno.raw_os_error(), |moved| moved as i32);
            if result != -Errno::INTR.raw_os_error() {
                return result;
            }
        }
    }

    /// Read at byte `offset`, once: bytes moved or a negated errno, which may be that of a signal.
    ///
    /// The system call and nothing else: telling its errors from its results, as a library must, takes eight instructions,
    /// and the loop compares with what it asked for in any case.
    ///
    /// # Safety
    /// As for [`Self::transfer`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub unsafe fn read(&self, offset: u64) -> i32 {
        let result: isize;
        // SAFETY: `pread64` with its four arguments in the registers of the Linux convention, and both registers that the
        // instruction destroys named; the memory that the kernel writes is the caller's promise.
        unsafe {
            std::arch::asm!(
                "syscall",
                inlateout("rax") libc::SYS_pread64 as isize => result,
                in("rdi") self.file as isize,
                in("rsi") self.address,
                in("rdx") self.len,
                in("r10") offset,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack),
            );
        }
        result as i32
    }

    /// As on x86-64; here the kernel keeps every register but that of the result.
    ///
    /// # Safety
    /// As for [`Self::transfer`].
    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    pub unsafe fn read(&self, offset: u64) -> i32 {
        let result: isize;
        // SAFETY: `pread64` with its four arguments in the registers of the Linux convention; the memory that the kernel
        // writes is the caller's promise.
        unsafe {
            std::arch::asm!(
                "svc #0",
                in("x8") libc::SYS_pread64 as isize,
                inlateout("x0") self.file as isize => result,
                in("x1") self.address,
                in("x2") self.len,
                in("x3") offset,
                options(nostack),
            );
        }
        result as i32
    }

    /// As [`Self::transfer`].
    ///
    /// # Safety
    /// As for [`Self::transfer`].
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[inline(always)]
    pub unsafe fn read(&self, offset: u64) -> i32 {
        // SAFETY: the caller's promise.
        unsafe { self.transfer(offset) }
    }

    /// Writes and flushes, out of the way of reads: those are what the length of this path is measured by.
    #[inline(never)]
    unsafe fn change(&self, offset: u64) -> rustix::io::Result<usize> {
        // SAFETY: as for `transfer`.
        let (file, buffer) = unsafe { (BorrowedFd::borrow_raw(self.file), self.buffer()) };
        match self.op {
            Op::Fsync => rustix::fs::fsync(file).map(|()| 0),
            Op::Fdatasync => rustix::fs::fdatasync(file).map(|()| 0),
            _ => self.change.call(file, buffer, offset),
        }
    }

    #[inline]
    unsafe fn buffer<'a>(self) -> &'a mut [u8] {
        // SAFETY: as for `transfer`.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.len) }
    }
}
