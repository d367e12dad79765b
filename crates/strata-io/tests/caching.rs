//! What was asked of the page cache is read back from it.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use strata_io::{Buffers, Change, Files, Io, Pool, Queue, Uring, cache_state, cached_bytes, drop_cached};

const BLOCK: u32 = 64 << 10;
const DURABLE: Change = Change::Write(libc::RWF_DSYNC);

/// Beside the build: the temporary directory may be memory, whose pages are neither dropped nor written out.
fn written(name: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, vec![7; 4 * BLOCK as usize]).unwrap();
    (dir, path)
}

#[test]
fn what_is_dropped_is_read_back_as_gone() {
    let (dir, path) = written("dropped");
    let (block, size) = (u64::from(BLOCK), 4 * u64::from(BLOCK));
    assert_eq!(cached_bytes(&path, block, size - block).unwrap(), size - block);
    assert_eq!(drop_cached(&path, 0, u64::MAX).unwrap(), 0);
    assert_eq!(cached_bytes(&path, 0, size).unwrap(), 0);
    assert_eq!(drop_cached(&dir.path().join("none"), 0, 1).unwrap_err().errno(), libc::ENOENT);
}

#[test]
fn pages_that_another_maps_stay_and_are_counted() {
    let (_dir, path) = written("mapped");
    let file = File::open(&path).unwrap();
    let size = 4 * BLOCK as usize;
    // SAFETY: a new read-only mapping of a file that this test alone has.
    let base = unsafe {
        let (fd, start) = (std::os::fd::AsRawFd::as_raw_fd(&file), std::ptr::null_mut());
        libc::mmap(start, size, libc::PROT_READ, libc::MAP_SHARED | libc::MAP_POPULATE, fd, 0)
    };
    assert_ne!(base, libc::MAP_FAILED);
    let left = drop_cached(&path, 0, u64::MAX).unwrap();
    // SAFETY: the mapping made above; nothing refers to it.
    unsafe { libc::munmap(base, size) };
    assert_eq!(left, size as u64);
}

/// Bytes that are only in memory after a write with these flags; `None` where the kernel does not say.
fn unwritten(path: &Path, mut queue: impl Queue) -> Option<u64> {
    queue.buffer(0).fill(9);
    queue.push(0, Io::write(0, BLOCK));
    queue.submit(1, None).unwrap();
    queue.reap(|done| assert_eq!(done.result, BLOCK as i32));
    cache_state(path, 0, u64::from(BLOCK)).unwrap().unwritten
}

#[test]
fn a_write_with_rwf_dsync_leaves_nothing_in_memory_alone() {
    let (_dir, path) = written("durable");
    drop_cached(&path, 0, u64::MAX).unwrap();
    let file = || Arc::new(Files::from(OpenOptions::new().read(true).write(true).open(&path).unwrap()));
    let buffers = || Buffers::new(1, BLOCK as usize, 4096).unwrap();
    let pool = || Pool::new(&file(), buffers()).unwrap();
    match unwritten(&path, pool()) {
        Some(left) => assert_eq!(left, u64::from(BLOCK)),
        None => println!("SKIPPED: this kernel has no cachestat"),
    }
    assert_eq!(unwritten(&path, pool().with_change(DURABLE)).unwrap_or(0), 0);
    assert_eq!(unwritten(&path, pool()).unwrap_or(u64::from(BLOCK)), u64::from(BLOCK));
    match Uring::new(file(), buffers()) {
        Ok(ring) => {
            let ring = ring.with_change(DURABLE).expect("a ring writes");
            assert_eq!(unwritten(&path, ring).unwrap_or(0), 0);
        }
        Err(e) => println!("SKIPPED io_uring: {e}"),
    }
}
