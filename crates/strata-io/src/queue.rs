//! The port between the load loop and whatever carries an I/O.

use std::io;
use std::time::Duration;

pub use strata_pattern::{Io, Op};

/// What became of one I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot that was given to [`Queue::push`].
    pub slot: u32,
    /// Bytes moved (≥ 0) or a negated errno (< 0), as the kernel reports it.
    pub result: i32,
}

/// A bounded set of slots, each with a buffer of its own, in which I/Os are in flight.
///
/// The load loop is generic over this trait and compiled once for each backend, so nothing
/// here costs a virtual call. A slot is in flight from `push` until `reap` returns it; pushing
/// a slot that is in flight is a bug of the caller.
pub trait Queue {
    /// The slot's buffer, for stamping write data. Only while the slot is not in flight.
    fn buffer(&mut self, slot: u32) -> &mut [u8];

    /// Put an I/O into the next submission. Makes no system call unless the submission queue is full.
    fn push(&mut self, slot: u32, io: Io);

    /// Hand over what was pushed and wait until at least `wait` completions are ready (0: do not
    /// wait) or `timeout` has passed. The wait may end earlier without an error, by a signal or a timer that
    /// long waits share: who has seen nothing come back waits again.
    ///
    /// # Errors
    /// The transport itself failed (ring refused, connection lost); errors of single I/Os come in
    /// their completions instead.
    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()>;

    /// Give every completion that is ready to `f`; returns how many there were. Makes no system call
    /// on a ring.
    fn reap(&mut self, f: impl FnMut(Completion)) -> usize;

    /// Whether the queue has one slot and its submit call does the I/O: then the loop may call [`Self::transfer`].
    const IN_PLACE: bool = false;

    /// What does an I/O like this one in slot 0, at the byte offset it is given, and waits for it, however long that
    /// takes: bytes moved (≥ 0) or a negated errno (< 0). Only where [`Self::IN_PLACE`] says so; with `READS` it must be
    /// a read, and a signal may end it with `EINTR`.
    ///
    /// # Safety
    /// It is not called after this queue is gone, nor while the slot's buffer is borrowed.
    unsafe fn prepare_transfers<const READS: bool>(
        &mut self,
        alike: Io,
    ) -> impl Fn(u64) -> i32 + use<Self, READS> {
        move |offset| unreachable!("{alike:?} at {offset} on a queue that works ahead")
    }

    /// Give the queue up while I/Os may be in flight. Their buffers must outlive them, so by default all of it is
    /// leaked; a queue whose buffers nobody but its owner touches frees what it has.
    fn abandon(self)
    where
        Self: Sized,
    {
        std::mem::forget(self);
    }
}
