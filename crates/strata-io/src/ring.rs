//! io_uring itself, on the kernel's own terms: the two rings, and the call that moves them.
//!
//! Every submission entry stays where it is for the life of the ring and is filled in once; an I/O changes what is
//! different about it and puts the entry's number into the queue. That is a third of the instructions of building
//! and copying an entry for each I/O (the journal of the load loop has the count).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::io_uring::{
    self as sys, IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringCqeFlags, IoringEnterFlags, IoringFeatureFlags,
    IoringOp, IoringRegisterOp, IoringSetupFlags, IoringTimeoutFlags, addr_or_splice_off_in_union,
    io_uring_cqe, io_uring_getevents_arg, io_uring_params, io_uring_ptr, io_uring_rsrc_update, io_uring_sqe,
    io_uring_user_data, len_union, op_flags_union,
};

use crate::mapping::Mapping;

/// What a tick of the standing timer is called among the completions.
const TICK: u64 = u64::MAX;

/// `IORING_TIMEOUT_MULTISHOT` (since Linux 6.4): the timer goes on after it has fired.
const AGAIN: u32 = 1 << 6;

/// A ring of one thread.
#[derive(Debug)]
pub(crate) struct Ring {
    fd: OwnedFd,
    /// The ring's number in the thread's table of rings, or its descriptor; and the flag that says which.
    handle: RawFd,
    flags: IoringEnterFlags,
    _rings: Mapping,
    _entries: Mapping,
    /// Submission entry 0.
    first: NonNull<io_uring_sqe>,
    sq: Side,
    /// Numbers of the entries to submit.
    array: NonNull<u32>,
    cq: Side,
    completions: NonNull<io_uring_cqe>,
    /// How often the standing timer ends a wait; the longest time there is where there is no such timer.
    ticks_every: Duration,
}

/// One of the two rings: the end that we move, the end that the kernel moves, and the size less one.
#[derive(Debug)]
struct Side {
    ours: NonNull<AtomicU32>,
    theirs: NonNull<AtomicU32>,
    mask: u32,
    /// Our end.
    at: u32,
}

impl Side {
    #[inline]
    fn theirs(&self) -> u32 {
        // SAFETY: points into the rings' mapping, which lives as long as the ring.
        unsafe { self.theirs.as_ref() }.load(Ordering::Acquire)
    }

    #[inline]
    fn publish(&self) {
        // SAFETY: as above.
        unsafe { self.ours.as_ref() }.store(self.at, Ordering::Release);
    }
}

impl Ring {
    /// A ring with room for `entries` submissions (a power of two).
    ///
    /// # Errors
    /// The kernel's own (`EINVAL`: it does not know a flag); `Unsupported` before Linux 5.11, which has no
    /// bounded waits.
    pub fn new(entries: u32, flags: IoringSetupFlags) -> io::Result<Self> {
        let mut params = io_uring_params::default();
        params.flags = flags;
        // SAFETY: the kernel reads and writes `params`, which lives through the call.
        let fd = unsafe { sys::io_uring_setup(entries, &mut params) }?;
        if !params.features.contains(IoringFeatureFlags::EXT_ARG | IoringFeatureFlags::SINGLE_MMAP) {
            let text = "io_uring without bounded waits (before Linux 5.11)";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let (sq, cq) = (params.sq_off, params.cq_off);
        let array_end = sq.array as usize + params.sq_entries as usize * size_of::<u32>();
        let cqes_end = cq.cqes as usize + params.cq_entries as usize * size_of::<io_uring_cqe>();
        let rings = Mapping::of_file(fd.as_raw_fd(), IORING_OFF_SQ_RING, array_end.max(cqes_end))?;
        let bytes = params.sq_entries as usize * size_of::<io_uring_sqe>();
        let entries = Mapping::of_file(fd.as_raw_fd(), IORING_OFF_SQES, bytes)?;
        let word = |offset: u32| rings.at::<AtomicU32>(offset as usize);
        let mask = |offset: u32| {
            // SAFETY: the kernel wrote the mask when it made the ring, and never changes it.
            unsafe { rings.at::<u32>(offset as usize).read() }
        };
        Ok(Self {
            handle: fd.as_raw_fd(),
            flags: IoringEnterFlags::empty(),
            sq: Side { ours: word(sq.tail), theirs: word(sq.head), mask: mask(sq.ring_mask), at: 0 },
            array: rings.at(sq.array as usize),
            cq: Side { ours: word(cq.head), theirs: word(cq.tail), mask: mask(cq.ring_mask), at: 0 },
            completions: rings.at(cq.cqes as usize),
            ticks_every: Duration::MAX,
            fd,
            _rings: rings,
            first: entries.at(0),
            _entries: entries,
        })
    }

    /// Put the ring into the calling thread's table, which saves the kernel a look-up a call. Only this thread may
    /// use the ring afterwards.
    ///
    /// # Errors
    /// The kernel does not do that (before Linux 5.18); the ring works as it did.
    pub fn register_itself(&mut self) -> io::Result<()> {
        let mut update = io_uring_rsrc_update::default();
        update.offset = u32::MAX; // any free place
        update.data = io_uring_ptr::new(std::ptr::without_provenance_mut(self.fd.as_raw_fd() as usize));
        let address = (&raw mut update).cast_const().cast();
        // SAFETY: the kernel reads and writes the one update.
        unsafe { sys::io_uring_register(&self.fd, IoringRegisterOp::RegisterRingFds, address, 1) }?;
        self.handle = update.offset as RawFd;
        self.flags |= IoringEnterFlags::REGISTERED_RING;
        Ok(())
    }

    /// Give the kernel a table of descriptors; submissions name them by number.
    ///
    /// # Errors
    /// The kernel's own.
    pub fn register_files(&self, files: &[RawFd]) -> io::Result<()> {
        let (address, n) = (files.as_ptr().cast(), files.len() as u32);
        // SAFETY: the kernel reads `n` descriptors.
        Ok(unsafe { sys::io_uring_register(&self.fd, IoringRegisterOp::RegisterFiles, address, n) }
            .map(drop)?)
    }

    /// Let the kernel pin areas of memory once and for all.
    ///
    /// # Errors
    /// The kernel's own, most often `ENOMEM` for `RLIMIT_MEMLOCK`.
    ///
    /// # Safety
    /// The areas stay mapped for as long as the ring lives.
    pub unsafe fn register_buffers(&self, areas: &[libc::iovec]) -> io::Result<()> {
        let (address, n) = (areas.as_ptr().cast(), areas.len() as u32);
        // SAFETY: the kernel reads `n` areas; the rest is the caller's promise.
        Ok(unsafe { sys::io_uring_register(&self.fd, IoringRegisterOp::RegisterBuffers, address, n) }
            .map(drop)?)
    }

    /// Let a timer of the ring's own end waits that are longer than `every`. A wait with a limit of its own costs the kernel
    /// two copies from our memory and a timer, a tenth of a cached read at depth 1. Uses entry 0, before anything else does.
    ///
    /// # Errors
    /// The kernel's own, when it cannot be asked. One that has no such timers (before Linux 6.4) is no error: waits keep
    /// limits of their own.
    pub fn tick(&mut self, every: Duration) -> io::Result<()> {
        let time = sys::Timespec { tv_sec: every.as_secs() as i64, tv_nsec: every.subsec_nanos().into() };
        let entry = self.entry(0);
        entry.opcode = IoringOp::Timeout;
        entry.fd = -1;
        let address = io_uring_ptr::new((&raw const time).cast_mut().cast());
        entry.addr_or_splice_off_in = addr_or_splice_off_in_union { addr: address };
        entry.len = len_union { len: 1 };
        let timeout_flags = IoringTimeoutFlags::from_bits_retain(AGAIN);
        entry.op_flags = op_flags_union { timeout_flags };
        entry.user_data = io_uring_user_data::from_u64(TICK);
        self.push(0);
        // The kernel has read the time when this returns, and answers at once what it refuses.
        self.enter(0, None)?;
        *self.entry(0) = io_uring_sqe::default();
        self.ticks_every = every;
        self.reap(|_, _| ());
        Ok(())
    }

    /// Whether there is a standing timer.
    pub fn ticks(&self) -> bool {
        self.ticks_every < Duration::MAX
    }

    /// Submission entry number `index`, to be changed only while it is not queued.
    #[inline]
    pub fn entry(&mut self, index: u32) -> &mut io_uring_sqe {
        assert!(index <= self.sq.mask, "entry {index} of {}", self.sq.mask + 1);
        // SAFETY: checked above; zeros, as the kernel made them, are a valid entry, and the borrow is unique. The
        // kernel reads entries only within `enter`.
        unsafe { self.first.add(index as usize).as_mut() }
    }

    /// Queue entry number `index`. The caller queues each entry once at most, so there is always room.
    #[inline]
    pub fn push(&mut self, index: u32) {
        let place = (self.sq.at & self.sq.mask) as usize;
        // SAFETY: the array has one place for each of the `mask + 1` entries.
        unsafe { self.array.add(place).write(index) };
        self.sq.at = self.sq.at.wrapping_add(1);
    }

    /// Hand over what is queued and wait for at least `wait` completions, no longer than `timeout`.
    ///
    /// # Errors
    /// The kernel's own. `ETIME`, `EINTR`, `EBUSY` and `EAGAIN` lose nothing: what is still queued goes with the
    /// next call.
    #[inline]
    pub fn enter(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        self.sq.publish();
        let queued = self.sq.at.wrapping_sub(self.sq.theirs());
        if let Some(timeout) = timeout
            && wait > 0
            && timeout < self.ticks_every
        {
            return self.enter_within(queued, wait, timeout);
        }
        let flags = if wait > 0 { self.flags | IoringEnterFlags::GETEVENTS } else { self.flags };
        // SAFETY: the descriptor, or the number that stands for it, belongs to this ring; everything queued points to
        // memory that outlives its I/O, as promised where it was queued.
        unsafe { sys::io_uring_enter(BorrowedFd::borrow_raw(self.handle), queued, wait, flags) }?;
        Ok(())
    }

    /// [`Self::enter`] with a limit of its own.
    #[inline(never)]
    fn enter_within(&mut self, queued: u32, wait: u32, timeout: Duration) -> io::Result<()> {
        let limit =
            sys::Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        let ts = std::ptr::from_ref(&limit).cast_mut();
        let arg = io_uring_getevents_arg { ts: io_uring_ptr::new(ts.cast()), ..Default::default() };
        let flags = self.flags | IoringEnterFlags::GETEVENTS | IoringEnterFlags::EXT_ARG;
        // SAFETY: as in `enter`; the argument and the time behind it live through the call.
        unsafe {
            let handle = BorrowedFd::borrow_raw(self.handle);
            sys::io_uring_enter_arg(handle, queued, wait, flags, Some(&arg))?;
        }
        Ok(())
    }

    /// Give every completion that is ready to `f`, as the entry's `user_data` and the result; how many.
    #[inline]
    pub fn reap(&mut self, mut f: impl FnMut(u64, i32)) -> usize {
        let (first, end) = (self.cq.at, self.cq.theirs());
        let (mut at, mut ticks) = (first, 0);
        while at != end {
            // SAFETY: the ring has `mask + 1` completions, and the kernel has written all before `end`.
            let done = unsafe { self.completions.add((at & self.cq.mask) as usize).as_ref() };
            let user_data = done.user_data.u64_();
            if user_data == TICK {
                ticks += 1;
                self.ticked(done.flags);
            } else {
                f(user_data, done.res);
            }
            at = at.wrapping_add(1);
        }
        self.cq.at = end;
        self.cq.publish();
        end.wrapping_sub(first) as usize - ticks
    }

    /// The standing timer told something: that it fired, or that it is no more.
    #[cold]
    fn ticked(&mut self, flags: IoringCqeFlags) {
        if !flags.contains(IoringCqeFlags::MORE) {
            self.ticks_every = Duration::MAX;
        }
    }
}
