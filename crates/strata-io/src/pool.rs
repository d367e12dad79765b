//! pread/pwrite, where io_uring is refused: in place at depth 1, on a thread for each slot when deeper.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::buffers::Buffers;
use crate::pool_worker::{Work, Worker, transfer};
use crate::queue::{Completion, Op, Queue};

/// A queue over blocking system calls.
#[derive(Debug)]
pub struct Pool {
    /// Empty at depth 1. Dropped (and so joined) first: the threads use the buffers until then.
    workers: Vec<Worker>,
    buffers: Buffers,
    file: Arc<File>,
    write_flags: i32,
    pushed: Vec<(u32, Work)>,
    ready: Vec<Completion>,
    done: Receiver<Completion>,
    in_workers: usize,
}

impl Pool {
    /// A queue of as many slots as `buffers` has, over `file`.
    ///
    /// # Errors
    /// A thread is refused.
    pub fn new(file: Arc<File>, buffers: Buffers) -> io::Result<Self> {
        let slots = buffers.slots();
        let (report, done) = mpsc::channel();
        let threads = if slots == 1 { 0 } else { slots };
        let workers = (0..threads)
            .map(|slot| Worker::start(slot, Arc::clone(&file), report.clone()))
            .collect::<io::Result<_>>()?;
        let room = slots as usize;
        let (pushed, ready) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Ok(Self { buffers, file, write_flags: 0, pushed, ready, workers, done, in_workers: 0 })
    }

    /// The same queue, each write of which carries these `RWF_…` flags.
    #[must_use]
    pub fn with_write_flags(self, write_flags: i32) -> Self {
        Self { write_flags, ..self }
    }

    /// How it was set up, for the record of a run.
    #[must_use]
    pub fn setup(&self) -> Vec<String> {
        vec![if self.workers.is_empty() {
            "inline".to_owned()
        } else {
            format!("threads={}", self.workers.len())
        }]
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
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => {
                    // No workers (depth 1): only time can end the wait.
                    std::thread::sleep(timeout.unwrap_or_default());
                    return;
                }
            }
        }
    }
}

impl Queue for Pool {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    fn push(&mut self, slot: u32, op: Op, offset: u64, len: u32) {
        assert!(len as usize <= self.buffers.slot_bytes(), "an I/O of {len} bytes in a smaller slot");
        let address = self.buffers.address(slot) as usize;
        let work = Work { op, offset, len, address, write_flags: self.write_flags };
        self.pushed.push((slot, work));
    }

    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        if self.workers.is_empty() {
            let fd = self.file.as_raw_fd();
            for (slot, work) in self.pushed.drain(..) {
                // SAFETY: the address is a slot of our own buffers, at least `len` long, not borrowed now.
                let result = unsafe { transfer(fd, &work) };
                self.ready.push(Completion { slot, result });
            }
        } else {
            for (slot, work) in self.pushed.drain(..) {
                self.workers[slot as usize].hand(work)?;
                self.in_workers += 1;
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_outlive_the_ios_of_a_pool_that_is_dropped() {
        const LEN: u32 = 32 << 20;
        let zero = Arc::new(File::open("/dev/zero").expect("/dev/zero"));
        let mut pool = Pool::new(zero, Buffers::new(2, LEN as usize, 1).expect("memory")).expect("threads");
        // Listened to after the pool is gone; its own end is a channel that says nothing.
        let done = std::mem::replace(&mut pool.done, mpsc::channel().1);
        for slot in 0..2 {
            pool.push(slot, Op::Read, 0, LEN);
        }
        pool.submit(0, None).expect("handed over");
        drop(pool);
        // Memory that was unmapped under a read gives EFAULT or a short read.
        assert!(done.iter().take(2).all(|completion| completion.result == LEN as i32));
    }
}
