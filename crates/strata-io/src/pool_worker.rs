//! One thread that carries one slot's I/Os with blocking calls.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use crate::blocking::Aim;
use crate::change::Change;
use crate::files::Files;
use crate::queue::{Completion, Io};

/// One I/O for a worker.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub io: Io,
    /// Address of the slot's buffer.
    pub address: usize,
    /// What a write does.
    pub change: Change,
}

impl Work {
    /// # Safety
    /// As [`Aim::transfer`].
    unsafe fn transfer(self, files: &Files) -> i32 {
        let Self { io, address, change } = self;
        let file = files.get(io.target()).as_raw_fd();
        let aim = Aim { file, address: address as *mut u8, len: io.len() as usize, op: io.op(), change };
        // SAFETY: the caller's promise; the file is open as long as `files`.
        unsafe { aim.transfer(io.offset()) }
    }
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
                let result = unsafe { work.transfer(&files) };
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
