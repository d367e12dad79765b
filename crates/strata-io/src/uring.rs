//! io_uring: one `enter` hands over a batch and waits for completions.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use io_uring::{IoUring, opcode, squeue, types};

use crate::buffers::Buffers;
use crate::files::Files;
use crate::queue::{Completion, Io, Op, Queue};

/// A ring of one thread. Make it in the thread that uses it: the kernel holds it to that (single issuer).
pub struct Uring {
    // Dropped first. Closing a ring does not wait for its I/Os: with any in flight the queue is abandoned instead.
    ring: IoUring,
    buffers: Buffers,
    _files: Arc<Files>,
    registered_buffers: bool,
    setup: Vec<String>,
}

/// Set-up flags from the newest kernel's to the plainest.
const TIERS: [&[&str]; 4] = [
    &["single_issuer", "coop_taskrun", "defer_taskrun", "no_sqarray"],
    &["single_issuer", "coop_taskrun", "defer_taskrun"],
    &["coop_taskrun"],
    &[],
];

fn build(tier: &[&str], entries: u32) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    for flag in tier {
        match *flag {
            "single_issuer" => builder.setup_single_issuer(),
            "coop_taskrun" => builder.setup_coop_taskrun(),
            "defer_taskrun" => builder.setup_defer_taskrun(),
            _ => builder.setup_no_sqarray(),
        };
    }
    builder.build(entries)
}

impl Uring {
    /// A ring with as many slots as `buffers` has, over `files`.
    ///
    /// # Errors
    /// The kernel refuses io_uring (`ENOSYS`, `EPERM`), or is older than 5.11 (no bounded waits).
    pub fn new(files: Arc<Files>, buffers: Buffers) -> io::Result<Self> {
        let entries = buffers.slots().next_power_of_two();
        let mut last = io::Error::from_raw_os_error(libc::EINVAL);
        for tier in TIERS {
            match build(tier, entries) {
                Ok(ring) => return Self::over(ring, tier, files, buffers),
                // EINVAL: the kernel does not know a flag; the next tier asks for less.
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) => last = e,
                Err(e) => return Err(e),
            }
        }
        Err(last)
    }

    fn over(ring: IoUring, tier: &[&str], files: Arc<Files>, buffers: Buffers) -> io::Result<Self> {
        if !ring.params().is_feature_ext_arg() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "io_uring without bounded waits (before Linux 5.11)",
            ));
        }
        let mut setup: Vec<String> = tier.iter().map(|&flag| flag.to_owned()).collect();
        ring.submitter().register_files(&files.descriptors())?;
        setup.push("registered_files".to_owned());
        let slots: Vec<libc::iovec> = (0..buffers.slots())
            .map(|slot| libc::iovec { iov_base: buffers.address(slot).cast(), iov_len: buffers.slot_bytes() })
            .collect();
        // SAFETY: the areas are slots of `buffers`, which this value keeps until after the ring is closed.
        let registered = unsafe { ring.submitter().register_buffers(&slots) };
        let registered_buffers = registered.is_ok();
        setup.push(match registered {
            Ok(()) => "registered_buffers".to_owned(),
            // Most often RLIMIT_MEMLOCK. Each I/O then pins its pages anew: slower, still right.
            Err(e) => format!("unregistered_buffers: {e}"),
        });
        Ok(Self { ring, buffers, _files: files, registered_buffers, setup })
    }

    /// The flags and registrations in force, for the record of a run.
    #[must_use]
    pub fn setup(&self) -> Vec<String> {
        self.setup.clone()
    }

    #[inline]
    fn entry(&self, slot: u32, io: Io) -> squeue::Entry {
        let Io { offset, len, target, op } = io;
        let address = self.buffers.address(slot);
        let (file, index) = (types::Fixed(target.into()), slot as u16);
        let entry = match (op, self.registered_buffers) {
            (Op::Read, true) => opcode::ReadFixed::new(file, address, len, index).offset(offset).build(),
            (Op::Write, true) => opcode::WriteFixed::new(file, address, len, index).offset(offset).build(),
            (Op::Read, false) => opcode::Read::new(file, address, len).offset(offset).build(),
            (Op::Write, false) => opcode::Write::new(file, address, len).offset(offset).build(),
            (Op::Fsync, _) => opcode::Fsync::new(file).build(),
            (Op::Fdatasync, _) => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
        };
        entry.user_data(u64::from(slot))
    }
}

impl Queue for Uring {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    #[inline]
    fn push(&mut self, slot: u32, io: Io) {
        assert!(io.len as usize <= self.buffers.slot_bytes(), "an I/O of {} bytes in a smaller slot", io.len);
        let entry = self.entry(slot, io);
        // SAFETY: the buffer belongs to the slot and outlives the I/O (a queue with I/Os in flight is abandoned,
        // not dropped); the caller leaves it alone until the completion. A full queue cannot be: it has an entry
        // for each slot.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "more I/Os than slots");
    }

    #[inline]
    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        let submitter = self.ring.submitter();
        let outcome = match timeout {
            Some(timeout) if wait > 0 => {
                let limit = types::Timespec::from(timeout);
                submitter.submit_with_args(wait as usize, &types::SubmitArgs::new().timespec(&limit))
            }
            _ => submitter.submit_and_wait(wait as usize),
        };
        match outcome {
            Ok(_) => Ok(()),
            Err(e) => match e.raw_os_error() {
                // Timed out, interrupted, or no room for completions until some are reaped: none of it is lost.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(e),
            },
        }
    }

    #[inline]
    fn reap(&mut self, mut f: impl FnMut(Completion)) -> usize {
        let mut n = 0;
        for entry in self.ring.completion() {
            f(Completion { slot: entry.user_data() as u32, result: entry.result() });
            n += 1;
        }
        n
    }
}
