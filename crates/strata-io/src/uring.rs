//! The queue over io_uring: one `enter` hands over a batch and waits for completions.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::ReadWriteFlags;
use rustix::io_uring::{
    IoringFsyncFlags, IoringOp, IoringSetupFlags, IoringSqeFlags, addr_or_splice_off_in_union, io_uring_ptr,
    io_uring_user_data, len_union, off_or_addr2_union, op_flags_union,
};

use crate::buffers::Buffers;
use crate::change::Change;
use crate::files::Files;
use crate::queue::{Completion, Io, Op, Queue};
use crate::ring::Ring;

/// A ring of one thread. Make it in the thread that uses it: the kernel holds it to that (single issuer).
#[derive(Debug)]
pub struct Uring {
    // Dropped first. Closing a ring does not wait for its I/Os: with any in flight the queue is abandoned instead.
    ring: Ring,
    buffers: Buffers,
    _files: Arc<Files>,
    /// What reads and writes are called: with registered buffers they have other names.
    calls: [IoringOp; 2],
    /// `RWF_…` of each read and each write.
    flags: [ReadWriteFlags; 2],
    /// What the entry of each slot was made for: an I/O like that one changes its offset alone.
    shapes: Box<[Io]>,
    setup: Vec<String>,
}

/// Waits of this length and longer share one timer.
const TICK: Duration = Duration::from_millis(100);

/// Set-up flags from the newest kernel's to the plainest, with their names.
const TIERS: [&[(&str, IoringSetupFlags)]; 3] = [
    &[
        ("single_issuer", IoringSetupFlags::SINGLE_ISSUER),
        ("coop_taskrun", IoringSetupFlags::COOP_TASKRUN),
        ("defer_taskrun", IoringSetupFlags::DEFER_TASKRUN),
    ],
    &[("coop_taskrun", IoringSetupFlags::COOP_TASKRUN)],
    &[],
];

impl Uring {
    /// A ring with as many slots as `buffers` has, over `files`.
    ///
    /// # Errors
    /// The kernel refuses io_uring (`ENOSYS`, `EPERM`), or is older than 5.11 (no bounded waits).
    pub fn new(files: Arc<Files>, buffers: Buffers) -> io::Result<Self> {
        // Each slot has an entry for its transfers and one for its flushes.
        let entries = (2 * buffers.slots()).next_power_of_two();
        let mut last = io::Error::from_raw_os_error(libc::EINVAL);
        for tier in TIERS {
            let flags = tier.iter().fold(IoringSetupFlags::empty(), |flags, (_, flag)| flags | *flag);
            match Ring::new(entries, flags) {
                Ok(ring) => return Self::over(ring, tier, files, buffers),
                // EINVAL: the kernel does not know a flag; the next tier asks for less.
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) => last = e,
                Err(e) => return Err(e),
            }
        }
        Err(last)
    }

    fn over(
        mut ring: Ring,
        tier: &[(&str, IoringSetupFlags)],
        files: Arc<Files>,
        buffers: Buffers,
    ) -> io::Result<Self> {
        let mut setup: Vec<String> = tier.iter().map(|(name, _)| (*name).to_owned()).collect();
        if ring.register_itself().is_ok() {
            setup.push("registered_ring".to_owned());
        }
        ring.register_files(&files.descriptors())?;
        setup.push("registered_files".to_owned());
        let slots: Vec<libc::iovec> = (0..buffers.slots())
            .map(|slot| libc::iovec { iov_base: buffers.address(slot).cast(), iov_len: buffers.slot_bytes() })
            .collect();
        // SAFETY: the areas are slots of `buffers`, which this value keeps until after the ring is closed.
        let registered = unsafe { ring.register_buffers(&slots) };
        let calls = match &registered {
            Ok(()) => [IoringOp::ReadFixed, IoringOp::WriteFixed],
            Err(_) => [IoringOp::Read, IoringOp::Write],
        };
        setup.push(match registered {
            Ok(()) => "registered_buffers".to_owned(),
            // Most often RLIMIT_MEMLOCK. Each I/O then pins its pages anew: slower, still right.
            Err(e) => format!("unregistered_buffers: {e}"),
        });
        // No I/O has these words, so the first of each slot makes its entry.
        let shapes = vec![Io::from_words([0, 0]); buffers.slots() as usize].into_boxed_slice();
        ring.tick(TICK)?;
        if ring.ticks() {
            setup.push("standing_timer".to_owned());
        }
        for slot in 0..buffers.slots() {
            let transfer = ring.entry(slot);
            transfer.flags = IoringSqeFlags::FIXED_FILE;
            let address = io_uring_ptr::new(buffers.address(slot).cast());
            transfer.addr_or_splice_off_in = addr_or_splice_off_in_union { addr: address };
            transfer.buf.buf_index = slot as u16;
            transfer.user_data = io_uring_user_data::from_u64(slot.into());
            let flush = ring.entry(buffers.slots() + slot);
            flush.opcode = IoringOp::Fsync;
            flush.flags = IoringSqeFlags::FIXED_FILE;
            flush.user_data = io_uring_user_data::from_u64(slot.into());
        }
        Ok(Self { ring, buffers, _files: files, calls, flags: [ReadWriteFlags::empty(); 2], shapes, setup })
    }

    /// The same ring, whose writes do this. A kernel that does not know one of their flags refuses the write with
    /// `EOPNOTSUPP`.
    ///
    /// # Errors
    /// No ring can carry it.
    pub fn with_change(self, change: Change) -> io::Result<Self> {
        let flags = ReadWriteFlags::from_bits_retain(change.flags_on_a_ring()? as u32);
        Ok(Self { flags: [ReadWriteFlags::empty(), flags], ..self })
    }

    /// The flags and registrations in force, for the record of a run.
    #[must_use]
    pub fn setup(&self) -> Vec<String> {
        self.setup.clone()
    }

    /// Make the slot's entry one of I/Os like `io`. Whether there is such an entry: flushes have one of their own, which is
    /// queued here and now.
    #[cold]
    fn shape(&mut self, slot: u32, io: Io) -> bool {
        assert!(
            io.len() as usize <= self.buffers.slot_bytes(),
            "an I/O of {} bytes in a smaller slot",
            io.len()
        );
        let Some(&opcode) = self.calls.get(io.op() as usize) else {
            self.push_flush(slot, io);
            return false;
        };
        let entry = self.ring.entry(slot);
        entry.opcode = opcode;
        entry.fd = io.target().into();
        entry.len = len_union { len: io.len() };
        entry.op_flags = op_flags_union { rw_flags: self.flags[io.op() as usize] };
        self.shapes[slot as usize] = io;
        true
    }

    fn push_flush(&mut self, slot: u32, io: Io) {
        let index = self.buffers.slots() + slot;
        let entry = self.ring.entry(index);
        entry.fd = io.target().into();
        let whole = io.op() == Op::Fsync;
        let fsync_flags = if whole { IoringFsyncFlags::empty() } else { IoringFsyncFlags::DATASYNC };
        entry.op_flags = op_flags_union { fsync_flags };
        self.ring.push(index);
    }
}

impl Queue for Uring {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    #[inline]
    fn push(&mut self, slot: u32, io: Io) {
        if !io.is_like(self.shapes[slot as usize]) && !self.shape(slot, io) {
            return;
        }
        self.ring.entry(slot).off_or_addr2 = off_or_addr2_union { off: io.offset() };
        // What is queued here points to the slot's own buffer, which outlives the I/O: a queue with I/Os in flight is
        // abandoned, not dropped. The caller leaves the slot alone until its completion.
        self.ring.push(slot);
    }

    #[inline]
    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        match self.ring.enter(wait, timeout) {
            Ok(()) => Ok(()),
            Err(e) => match e.raw_os_error() {
                // Timed out, interrupted, or no room for completions until some are reaped: none of it is lost.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(e),
            },
        }
    }

    #[inline]
    fn reap(&mut self, mut f: impl FnMut(Completion)) -> usize {
        self.ring.reap(|user_data, result| f(Completion { slot: user_data as u32, result }))
    }
}
