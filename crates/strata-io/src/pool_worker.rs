//! One thread that carries one slot's I/Os with blocking calls.

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use crate::files::Files;
use crate::queue::{Completion, Io, Op};

/// One I/O for a worker.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub io: Io,
    /// Address of the slot's buffer.
    pub address: usize,
    /// `RWF_…` of a write.
    pub write_flags: i32,
}

/// A worker thread; ends and is joined when dropped.
#[derive(Debug)]
pub struct Worker {
    orders: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Start the thread of `slot`.
    pub fn start(slot: u32, files: Arc<Files>, report: Sender<Completion>) -> io::Result<Self> {
        let (orders, inbox) = mpsc::channel::<Work>();
        let thread = std::thread::Builder::new().name(format!("strata-io-{slot}")).spawn(move || {
            for work in inbox {
                // SAFETY: the queue that sent the address keeps the buffers until this thread has been joined
                // (or leaks both), and touches the slot again only after the completion.
                let result = unsafe { transfer(files.descriptor(work.io.target()), &work) };
                if report.send(Completion { slot, result }).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { orders: Some(orders), thread: Some(thread) })
    }

    /// Give it one I/O.
    pub fn hand(&self, work: Work) -> io::Result<()> {
        let orders = self.orders.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        orders.send(work).map_err(|_| io::Error::other("an I/O thread is gone"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It cannot panic; a join error would have nobody to be told to.
            let _ = thread.join();
        }
    }
}

/// One blocking call, restarted after signals; bytes moved or a negated errno.
///
/// # Safety
/// `work.address` points to `work.io.len()` bytes that nothing else uses until this returns.
#[inline]
pub unsafe fn transfer(fd: RawFd, work: &Work) -> i32 {
    let (address, op) = (work.address as *mut libc::c_void, work.io.op());
    let (len, offset) = (work.io.len() as usize, work.io.offset() as libc::off_t);
    let area = libc::iovec { iov_base: address, iov_len: len };
    loop {
        // SAFETY: the caller's promise.
        let moved = unsafe {
            match op {
                Op::Read => libc::pread(fd, address, len, offset),
                Op::Write if work.write_flags == 0 => libc::pwrite(fd, address, len, offset),
                Op::Write => libc::pwritev2(fd, &raw const area, 1, offset, work.write_flags),
                Op::Fsync => libc::fsync(fd) as isize,
                Op::Fdatasync => libc::fdatasync(fd) as isize,
            }
        };
        if moved >= 0 {
            return moved as i32;
        }
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        if errno != libc::EINTR {
            return -errno;
        }
    }
}
