//! io_uring: one `enter` hands over a batch and waits for completions.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use io_uring::{IoUring, opcode, squeue, types};

use crate::buffers::Buffers;
use crate::queue::{Completion, Op, Queue};

/// The file's index in the ring's table of registered files.
const FILE: types::Fixed = types::Fixed(0);

/// A ring of one thread. Make it in the thread that uses it: the kernel holds it to that (single issuer).
pub struct Uring {
    // Dropped first. Closing a ring does not wait for its I/Os: with any in flight the queue is abandoned instead.
    ring: IoUring,
    buffers: Buffers,
    _file: Arc<File>,
    registered_buffers: bool,
    /// `RWF_…` of each write.
    write_flags: i32,
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
    /// A ring with as many slots as `buffers` has, over `file`.
    ///
    /// # Errors
    /// The kernel refuses io_uring (`ENOSYS`, `EPERM`), or is older than 5.11 (no bounded waits).
    pub fn new(file: Arc<File>, buffers: Buffers) -> io::Result<Self> {
        let entries = buffers.slots().next_power_of_two();
        let mut last = io::Error::from_raw_os_error(libc::EINVAL);
        for tier in TIERS {
            match build(tier, entries) {
                Ok(ring) => return Self::over(ring, tier, file, buffers),
                // EINVAL: the kernel does not know a flag; the next tier asks for less.
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) => last = e,
                Err(e) => return Err(e),
            }
        }
        Err(last)
    }

    fn over(ring: IoUring, tier: &[&str], file: Arc<File>, buffers: Buffers) -> io::Result<Self> {
        if !ring.params().is_feature_ext_arg() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "io_uring without bounded waits (before Linux 5.11)",
            ));
        }
        let mut setup: Vec<String> = tier.iter().map(|&flag| flag.to_owned()).collect();
        ring.submitter().register_files(&[file.as_raw_fd()])?;
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
        Ok(Self { ring, buffers, _file: file, registered_buffers, write_flags: 0, setup })
    }

    /// The same ring, each write of which carries these `RWF_…` flags. A kernel that does not know one of them refuses
    /// the write with `EOPNOTSUPP`.
    #[must_use]
    pub fn with_write_flags(self, write_flags: i32) -> Self {
        Self { write_flags, ..self }
    }

    /// The flags and registrations in force, for the record of a run.
    #[must_use]
    pub fn setup(&self) -> Vec<String> {
        self.setup.clone()
    }

    fn entry(&self, slot: u32, op: Op, offset: u64, len: u32) -> squeue::Entry {
        let address = self.buffers.address(slot);
        let index = slot as u16;
        let entry = match (op, self.registered_buffers) {
            (Op::Read, true) => opcode::ReadFixed::new(FILE, address, len, index).offset(offset).build(),
            (Op::Write, true) => opcode::WriteFixed::new(FILE, address, len, index)
                .offset(offset)
                .rw_flags(self.write_flags)
                .build(),
            (Op::Read, false) => opcode::Read::new(FILE, address, len).offset(offset).build(),
            (Op::Write, false) => {
                opcode::Write::new(FILE, address, len).offset(offset).rw_flags(self.write_flags).build()
            }
        };
        entry.user_data(u64::from(slot))
    }
}

impl Queue for Uring {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    #[inline]
    fn push(&mut self, slot: u32, op: Op, offset: u64, len: u32) {
        assert!(len as usize <= self.buffers.slot_bytes(), "an I/O of {len} bytes in a smaller slot");
        let entry = self.entry(slot, op, offset, len);
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
