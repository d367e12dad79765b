//! One blocking call at a time, made by the load thread itself: the shortest way to a file there is.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::buffers::Buffers;
use crate::files::Files;
use crate::pool_worker::{Work, transfer};
use crate::queue::{Completion, Io, Queue};

/// A queue of one slot. `submit` does the I/O and returns when it is done, however long that takes.
#[derive(Debug)]
pub struct Psync {
    buffers: Buffers,
    files: Arc<Files>,
    write_flags: i32,
    pushed: Option<Work>,
    done: Option<i32>,
}

impl Psync {
    /// A queue over `files`; `buffers` has one slot.
    ///
    /// # Errors
    /// `EINVAL` for buffers of more slots: nothing can overlap here.
    pub fn new(files: Arc<Files>, buffers: Buffers) -> io::Result<Self> {
        if buffers.slots() != 1 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        Ok(Self { buffers, files, write_flags: 0, pushed: None, done: None })
    }

    /// The same queue, each write of which carries these `RWF_…` flags.
    #[must_use]
    pub fn with_write_flags(self, write_flags: i32) -> Self {
        Self { write_flags, ..self }
    }
}

impl Queue for Psync {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    #[inline]
    fn push(&mut self, slot: u32, io: Io) {
        assert!(
            io.len() as usize <= self.buffers.slot_bytes(),
            "an I/O of {} bytes in a smaller slot",
            io.len()
        );
        self.pushed =
            Some(Work { io, address: self.buffers.address(slot) as usize, write_flags: self.write_flags });
    }

    #[inline]
    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        match (self.pushed.take(), timeout) {
            (Some(work), _) => {
                let descriptor = self.files.descriptor(work.io.target());
                // SAFETY: the address is the slot of our own buffers, at least `len` long, not borrowed now.
                self.done = Some(unsafe { transfer(descriptor, &work) });
            }
            // Nothing is in flight that could end the wait.
            (None, Some(timeout)) if wait > 0 && self.done.is_none() => std::thread::sleep(timeout),
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, mut f: impl FnMut(Completion)) -> usize {
        match self.done.take() {
            Some(result) => {
                f(Completion { slot: 0, result });
                1
            }
            None => 0,
        }
    }
}
