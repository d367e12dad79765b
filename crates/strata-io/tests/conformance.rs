//! The behaviour suite on every queue of this crate, on a real file of the working disk.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

mod suite;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use strata_io::{Buffers, Change, Files, Io, Kind, Null, OpenSpec, Pool, Psync, Queue, Uring, open};
use suite::{BLOCK, BLOCKS, awaited, behaves};

/// Beyond the end: no bytes, no error; that is how the kernel says it.
const NOTHING: Option<i32> = Some(0);

fn scratch() -> tempfile::TempDir {
    // Beside the build, on the working disk: /tmp may be a tmpfs.
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A file of the suite, opened past the page cache where that is possible.
fn target(dir: &Path) -> Arc<Files> {
    let path = dir.join("data");
    std::fs::write(&path, vec![0u8; BLOCK * BLOCKS as usize]).unwrap();
    let spec = OpenSpec { path: &path, fd: None, kind: Kind::File, direct: true, dsync: false, write: true };
    match open(&spec) {
        Ok(target) => {
            assert!(target.direct && target.size_bytes == BLOCK as u64 * BLOCKS);
            Arc::new(target.file.into())
        }
        Err(e) => {
            println!("SKIPPED direct I/O, buffered instead: {e}");
            Arc::new(open(&OpenSpec { direct: false, ..spec }).unwrap().file.into())
        }
    }
}

fn buffers(depth: u32) -> Buffers {
    Buffers::new(depth, BLOCK, 512).unwrap()
}

#[test]
fn null() {
    behaves(&mut Null::new(buffers(4)), 4, false, None);
}

#[test]
fn psync() {
    let dir = scratch();
    behaves(&mut Psync::new(target(dir.path()), buffers(1)).unwrap(), 1, true, NOTHING);
    assert!(Psync::new(target(dir.path()), buffers(2)).is_err());
}

#[test]
fn pool() {
    for depth in [1, 2, 8] {
        let dir = scratch();
        let mut pool = Pool::new(&target(dir.path()), buffers(depth)).unwrap();
        behaves(&mut pool, depth, true, NOTHING);
        assert!(!pool.setup().is_empty());
    }
}

#[test]
fn uring() {
    for depth in [1, 3, 8] {
        let dir = scratch();
        match Uring::new(target(dir.path()), buffers(depth)) {
            Ok(mut ring) => {
                behaves(&mut ring, depth, true, NOTHING);
                assert!(ring.setup().iter().any(|s| s == "registered_files"));
            }
            Err(e) => println!("SKIPPED io_uring: {e}"),
        }
    }
}

#[test]
fn errors_of_single_ios_come_as_completions() {
    let dir = scratch();
    let path = dir.path().join("data");
    std::fs::write(&path, vec![0u8; BLOCK]).unwrap();
    let read_only = || Arc::new(Files::from(File::open(&path).unwrap()));
    fn check<Q: Queue>(mut queue: Q) {
        queue.push(0, Io::write(0, BLOCK as u32));
        let results: Vec<_> = awaited(&mut queue).iter().map(|c| c.result).collect();
        assert_eq!(results, [-libc::EBADF]);
    }
    check(Psync::new(read_only(), buffers(1)).unwrap());
    check(Pool::new(&read_only(), buffers(2)).unwrap());
    match Uring::new(read_only(), buffers(1)) {
        Ok(ring) => check(ring),
        Err(e) => println!("SKIPPED io_uring: {e}"),
    }
}

#[test]
fn a_write_that_discards_makes_a_hole_and_no_other_block_changes() {
    const TRIM: Change = Change::Discard(Kind::File);
    fn holey<Q: Queue>(make: impl Fn(Arc<Files>) -> Q) {
        let dir = scratch();
        let path = dir.path().join("data");
        std::fs::write(&path, vec![7u8; 4 * BLOCK]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        if let Err((means, e)) = TRIM.check(&file) {
            return println!("SKIPPED, {means}: {e}");
        }
        let mut queue = make(Arc::new(file.into()));
        // The same entry of a slot twice, at two places.
        for block in [1, 3] {
            queue.push(0, Io::write(block * BLOCK as u64, BLOCK as u32));
            let done: Vec<_> = awaited(&mut queue).iter().map(|c| (c.slot, c.result)).collect();
            assert_eq!(done, [(0, BLOCK as i32)]);
        }
        queue.push(0, Io::write(u64::MAX / 2, BLOCK as u32));
        assert!(awaited(&mut queue).iter().all(|c| c.result < 0), "beyond the largest file");
        let there = std::fs::read(&path).unwrap();
        let kept: Vec<_> = there.chunks(BLOCK).map(|block| block.iter().all(|&byte| byte == 7)).collect();
        assert_eq!((there.len(), kept), (4 * BLOCK, vec![true, false, true, false]));
        assert!(there[BLOCK..2 * BLOCK].iter().all(|&byte| byte == 0));
    }
    holey(|files| Psync::new(files, buffers(1)).unwrap().with_change(TRIM));
    holey(|files| Pool::new(&files, buffers(2)).unwrap().with_change(TRIM));
    let none = Arc::new(Files::from(File::open("/dev/null").unwrap()));
    match Uring::new(Arc::clone(&none), buffers(1)) {
        Ok(ring) => {
            assert!(ring.with_change(TRIM).is_err(), "discards are blocking calls");
        }
        Err(e) => println!("SKIPPED io_uring: {e}"),
    }
    let (means, answer) = Change::Discard(Kind::Block).check(none.get(0)).unwrap_err();
    assert!(means.contains("does not take discards") && answer.raw_os_error().is_some());
}

#[test]
fn opening_is_exact() {
    let dir = scratch();
    let path = dir.path().join("data");
    let spec = OpenSpec { path: &path, fd: None, kind: Kind::File, direct: false, dsync: true, write: true };
    assert_eq!(open(&spec).unwrap_err().errno(), libc::ENOENT);
    assert!(!path.exists(), "opening never creates");
    std::fs::write(&path, b"kept").unwrap();
    let target = open(&spec).unwrap();
    assert!(target.dsync && !target.direct && target.size_bytes == 4);
    assert_eq!(std::fs::read(&path).unwrap(), b"kept");
    assert_eq!(open(&OpenSpec { kind: Kind::Block, ..spec }).unwrap_err().errno(), libc::ENOTBLK);
    assert_eq!(open(&OpenSpec { path: dir.path(), ..spec }).unwrap_err().errno(), libc::EINVAL);
}

#[test]
fn extents_and_limits_of_a_written_file() {
    let dir = scratch();
    let path = dir.path().join("data");
    std::fs::write(&path, vec![5u8; 1 << 20]).unwrap();
    let limits = strata_io::io_limits(&path).unwrap();
    assert!(limits.size_bytes == 1 << 20 && limits.dio_offset_align.is_power_of_two());
    match strata_io::fiemap(&path) {
        Ok(map) => {
            assert_eq!(map.extents.iter().map(|e| e.length).sum::<u64>(), 1 << 20);
            assert!(
                map.extents.iter().all(|e| !e.flags.contains(&"unwritten") && !e.flags.contains(&"delalloc"))
            );
        }
        Err(e) => println!("SKIPPED the extents: {e}"),
    }
    let hole = File::create(dir.path().join("hole")).unwrap();
    hole.set_len(1 << 20).unwrap();
    if let Ok(map) = strata_io::fiemap(&dir.path().join("hole")) {
        assert!(map.extents.is_empty());
    }
}

/// Waits that are long share a timer of the ring's own; it ends them, and is no completion.
#[test]
fn a_long_wait_for_nothing_ends_again_and_again() {
    let dir = scratch();
    let files = target(dir.path());
    let (said, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let Ok(mut ring) = Uring::new(files, buffers(2)) else {
            return println!("SKIPPED: no io_uring here");
        };
        if !ring.setup().iter().any(|word| word == "standing_timer") {
            return println!("SKIPPED: a kernel without timers that go on");
        }
        for _ in 0..3 {
            ring.submit(1, Some(Duration::from_secs(3600))).unwrap();
            said.send(ring.reap(|done| panic!("{done:?}"))).unwrap();
        }
    });
    while let Ok(completions) = heard.recv_timeout(Duration::from_secs(60)).map_err(|e| match e {
        std::sync::mpsc::RecvTimeoutError::Timeout => panic!("it still waits"),
        gone => gone,
    }) {
        assert_eq!(completions, 0);
    }
}
