//! One blocking call at a time, made by the load thread itself: the shortest way to a file there is.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use crate::blocking::TransferArgs;
use crate::buffers::Buffers;
use crate::change::Change;
use crate::files::Files;
use crate::queue::{Completion, Io, Queue};

/// A queue of one slot. `submit` does the I/O and returns when it is done, however long that takes.
#[derive(Debug)]
pub struct Psync {
    buffers: Buffers,
    files: Arc<Files>,
    change: Change,
    pushed: Option<Io>,
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
        Ok(Self { buffers, files, change: Change::default(), pushed: None, done: None })
    }

    /// The same queue, whose writes do this.
    #[must_use]
    pub fn with_change(self, change: Change) -> Self {
        Self { change, ..self }
    }
}

impl Queue for Psync {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    fn push(&mut self, slot: u32, io: Io) {
        assert!(slot == 0 && self.pushed.is_none(), "a queue of one slot has an I/O already");
        self.pushed = Some(io);
    }

    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        match (self.pushed.take(), timeout) {
            (Some(io), _) => {
                // SAFETY: called at once, with no borrow of the buffer.
                self.done = Some(unsafe { self.prepare_transfers::<false>(io) }(io.offset()));
            }
            // Nothing is in flight that could end the wait.
            (None, Some(timeout)) if wait > 0 && self.done.is_none() => std::thread::sleep(timeout),
            _ => {}
        }
        Ok(())
    }

    fn reap(&mut self, mut f: impl FnMut(Completion)) -> usize {
        match self.done.take() {
            Some(result) => {
                f(Completion { slot: 0, result });
                1
            }
            None => 0,
        }
    }

    const IN_PLACE: bool = true;

    unsafe fn prepare_transfers<const READS: bool>(&mut self, alike: Io) -> impl Fn(u64) -> i32 + use<READS> {
        let (len, room) = (alike.len(), self.buffers.slot_bytes());
        assert!(len as usize <= room, "an I/O of {len} bytes in a buffer of {room}");
        let args = TransferArgs {
            file: self.files.get(alike.target()).as_raw_fd(),
            address: self.buffers.address(0),
            len: len as usize,
            op: alike.op(),
            change: self.change,
        };
        // SAFETY: the file is one of `files`, which live as long as this queue; the address is the only slot of our own
        // buffers, at least `len` long; the rest is the caller's promise.
        move |offset| unsafe { if READS { args.read(offset) } else { args.transfer(offset) } }
    }
}
