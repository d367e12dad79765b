//! The endpoint that does nothing: what is left is the engine's own cost.

use std::io;
use std::time::Duration;

use crate::buffers::Buffers;
use crate::queue::{Completion, Io, Queue};

/// Completes everything with success at the next submission.
#[derive(Debug)]
pub struct Null {
    buffers: Buffers,
    pushed: Vec<Completion>,
    ready: Vec<Completion>,
}

impl Null {
    /// A queue of as many slots as `buffers` has.
    #[must_use]
    pub fn new(buffers: Buffers) -> Self {
        let slots = buffers.slots() as usize;
        Self { buffers, pushed: Vec::with_capacity(slots), ready: Vec::with_capacity(slots) }
    }
}

impl Queue for Null {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    #[inline]
    fn push(&mut self, slot: u32, io: Io) {
        self.pushed.push(Completion { slot, result: io.len() as i32 });
    }

    #[inline]
    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        self.ready.append(&mut self.pushed);
        if self.ready.len() < wait as usize
            && let Some(timeout) = timeout
        {
            // Nothing is in flight that could end the wait.
            std::thread::sleep(timeout);
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, f: impl FnMut(Completion)) -> usize {
        let n = self.ready.len();
        self.ready.drain(..).for_each(f);
        n
    }
}
