//! Blocking calls on a thread for each slot, where io_uring is refused.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::blocking::TransferArgs;
use crate::buffers::Buffers;
use crate::change::Change;
use crate::files::Files;
use crate::queue::{Completion, Io, Queue};

/// A queue over blocking system calls.
#[derive(Debug)]
pub struct Pool {
    /// Dropped (and so joined) first: the threads use the buffers until then.
    workers: Vec<Worker>,
    buffers: Buffers,
    change: Change,
    pushed: Vec<(u32, Work)>,
    ready: Vec<Completion>,
    done: Receiver<Completion>,
    in_workers: usize,
}

impl Pool {
    /// A queue of as many slots as `buffers` has, over `files`.
    ///
    /// # Errors
    /// A thread is refused.
    pub fn new(files: &Arc<Files>, buffers: Buffers) -> io::Result<Self> {
        let slots = buffers.slots();
        let (report, done) = mpsc::channel();
        let workers = (0..slots)
            .map(|slot| Worker::start(slot, Arc::clone(files), report.clone()))
            .collect::<io::Result<_>>()?;
        let room = slots as usize;
        let (pushed, ready) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Ok(Self { buffers, change: Change::default(), pushed, ready, workers, done, in_workers: 0 })
    }

    /// The same queue, whose writes do this.
    #[must_use]
    pub fn with_change(self, change: Change) -> Self {
        Self { change, ..self }
    }

    /// How it was set up, for the record of a run.
    #[must_use]
    pub fn setup(&self) -> Vec<String> {
        vec![format!("threads={}", self.workers.len())]
    }

    fn collect(&mut self, completion: Completion) {
        self.ready.push(completion);
        self.in_workers -= 1;
    }

    fn wait(&mut self, wait: usize, timeout: Option<Duration>) {
        while self.ready.len() < wait {
            let got = match timeout {
                Some(timeout) => self.done.recv_timeout(timeout),
                None if self.in_workers == 0 => return,
                None => self.done.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match got {
                Ok(completion) => self.collect(completion),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

impl Queue for Pool {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    fn push(&mut self, slot: u32, io: Io) {
        assert!(
            io.len() as usize <= self.buffers.slot_bytes(),
            "an I/O of {} bytes in a smaller slot",
            io.len()
        );
        let work = Work { io, address: self.buffers.address(slot) as usize, change: self.change };
        self.pushed.push((slot, work));
    }

    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        for (slot, work) in self.pushed.drain(..) {
            self.workers[slot as usize].hand(work)?;
            self.in_workers += 1;
        }
        self.wait(wait as usize, timeout);
        Ok(())
    }

    fn reap(&mut self, f: impl FnMut(Completion)) -> usize {
        while let Ok(completion) = self.done.try_recv() {
            self.collect(completion);
        }
        let n = self.ready.len();
        self.ready.drain(..).for_each(f);
        n
    }
}

/// One I/O for a worker.
#[derive(Clone, Copy, Debug)]
struct Work {
    io: Io,
    /// Address of the slot's buffer.
    address: usize,
    /// What a write does.
    change: Change,
}

impl Work {
    /// # Safety
    /// As [`TransferArgs::transfer`].
    unsafe fn transfer(self, files: &Files) -> i32 {
        let Self { io, address, change } = self;
        let file = files.get(io.target()).as_raw_fd();
        let args =
            TransferArgs { file, address: address as *mut u8, len: io.len() as usize, op: io.op(), change };
        // SAFETY: the caller's promise; the file is open as long as `files`.
        unsafe { args.transfer(io.offset()) }
    }
}

/// One thread that carries one slot's I/Os with blocking calls; ends and is joined when dropped.
#[derive(Debug)]
struct Worker {
    orders: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Start the thread of `slot`.
    fn start(slot: u32, files: Arc<Files>, report: Sender<Completion>) -> io::Result<Self> {
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
    fn hand(&self, work: Work) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_outlive_the_ios_of_a_pool_that_is_dropped() {
        const LEN: u32 = 32 << 20;
        let zero = Arc::new(Files::from(std::fs::File::open("/dev/zero").expect("/dev/zero")));
        let mut pool = Pool::new(&zero, Buffers::new(2, LEN as usize, 1).expect("memory")).expect("threads");
        // Listened to after the pool is gone; its own end is a channel that says nothing.
        let done = std::mem::replace(&mut pool.done, mpsc::channel().1);
        for slot in 0..2 {
            pool.push(slot, Io::read(0, LEN));
        }
        pool.submit(0, None).expect("handed over");
        drop(pool);
        // Memory that was unmapped under a read gives EFAULT or a short read.
        assert!(done.iter().take(2).all(|completion| completion.result == LEN as i32));
    }
}
