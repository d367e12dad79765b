//! A piece of address space of our own.

use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;

use crate::sys;

/// A mapping, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone; a raw pointer is what stops the automatic impl.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Zeroed private memory, faulted in.
    ///
    /// # Errors
    /// The system refuses the memory.
    pub fn anonymous(bytes: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        Self::map(-1, 0, bytes, libc::PROT_READ | libc::PROT_WRITE, flags)
    }

    /// `bytes` of what `fd` shares at `offset`.
    ///
    /// # Errors
    /// The system's own.
    pub fn of_file(fd: RawFd, offset: u64, bytes: usize) -> io::Result<Self> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        Self::map(fd, offset, bytes, libc::PROT_READ | libc::PROT_WRITE, flags)
    }

    /// Whether each page of it is in memory. Nothing may be read from it: the file may be shorter by then.
    ///
    /// # Errors
    /// The system's own.
    pub fn resident(fd: RawFd, offset: u64, bytes: usize, page: usize) -> io::Result<Vec<bool>> {
        let mapping = Self::map(fd, offset, bytes, libc::PROT_READ, libc::MAP_SHARED)?;
        let mut pages = vec![0u8; bytes.div_ceil(page)];
        // SAFETY: the mapping spans `bytes`, and the vector has a byte for each of its pages.
        sys::check(unsafe { libc::mincore(mapping.base.as_ptr().cast(), bytes, pages.as_mut_ptr()) })?;
        Ok(pages.into_iter().map(|state| state & 1 == 1).collect())
    }

    fn map(
        fd: RawFd,
        offset: u64,
        bytes: usize,
        protection: libc::c_int,
        flags: libc::c_int,
    ) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, fd, offset as libc::off_t) };
        match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => {
                Ok(Self { base, bytes })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Address of the `T` at byte `offset`, which lies wholly inside and is aligned.
    #[inline]
    pub fn at<T>(&self, offset: usize) -> NonNull<T> {
        assert!(offset + size_of::<T>() <= self.bytes && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: inside the mapping, as was just checked; mappings begin at a page.
        unsafe { self.base.add(offset).cast() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by `map` with this length; nothing borrows it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
