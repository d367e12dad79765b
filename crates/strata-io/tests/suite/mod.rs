//! One behaviour suite for every queue of the load loop, whatever carries it.

use std::collections::HashSet;
use std::time::Duration;

use strata_io::{Completion, Io, Op, Queue};

/// Bytes of a block; the target holds [`BLOCKS`] of them, and every slot one.
pub const BLOCK: usize = 8192;
/// Blocks of the target.
pub const BLOCKS: u64 = 64;
/// Longer than any test takes.
pub const LONG: Option<Duration> = Some(Duration::from_secs(60));

/// Push `ops` as slots allow; every completion is checked to be one of those in flight.
fn carry<Q: Queue>(
    queue: &mut Q,
    depth: u32,
    op: Op,
    mut each: impl FnMut(&mut Q, u32, u64, bool),
) -> Vec<i32> {
    let (mut free, mut aloft, mut results) =
        ((0..depth).collect::<Vec<_>>(), vec![None; depth as usize], vec![]);
    let mut next = 0;
    while results.len() < BLOCKS as usize {
        while let (Some(&slot), true) = (free.last(), next < BLOCKS) {
            free.pop();
            each(queue, slot, next, false);
            queue.push(slot, Io::new(op, 0, next * BLOCK as u64, BLOCK as u32));
            aloft[slot as usize] = Some(next);
            next += 1;
        }
        queue.submit(1, LONG).unwrap();
        let mut seen = vec![];
        let n = queue.reap(|completion| seen.push(completion));
        assert!(n >= 1 && n == seen.len(), "a wait for one ends with one");
        for Completion { slot, result } in seen {
            let block = aloft[slot as usize].take().expect("in flight");
            each(queue, slot, block, true);
            results.push(result);
            free.push(slot);
        }
    }
    results
}

fn pattern(block: u64) -> Vec<u8> {
    (0..BLOCK).map(|i| (block as usize * 31 + i / 7) as u8).collect()
}

/// What every queue must do. `keeps_data`: what was written is read back; `beyond`: how a read beyond the end
/// completes, where there is an end.
pub fn behaves<Q: Queue>(queue: &mut Q, depth: u32, keeps_data: bool, beyond: Option<i32>) {
    let written = carry(queue, depth, Op::Write, |q, slot, block, done| {
        if !done {
            q.buffer(slot).copy_from_slice(&pattern(block));
        }
    });
    assert!(written.iter().all(|&result| result == BLOCK as i32), "{written:?}");
    let mut seen = HashSet::new();
    let read = carry(queue, depth, Op::Read, |q, slot, block, done| {
        if !done {
            q.buffer(slot).fill(0xEE);
        } else {
            seen.insert(block);
            assert!(!keeps_data || q.buffer(slot) == pattern(block), "block {block} is not what was written");
        }
    });
    assert!(read.iter().all(|&result| result == BLOCK as i32));
    assert_eq!(seen.len(), BLOCKS as usize);

    // A wait without anything in flight ends by its timeout, and there is nothing to reap.
    queue.submit(1, Some(Duration::from_millis(3))).unwrap();
    assert_eq!(queue.reap(|_| panic!("nothing was in flight")), 0);
    queue.submit(0, None).unwrap();

    // Handing over without waiting loses nothing.
    queue.push(0, Io::read(0, BLOCK as u32));
    queue.submit(0, None).unwrap();
    queue.submit(1, LONG).unwrap();
    let mut results = vec![];
    queue.reap(|c| results.push((c.slot, c.result)));
    assert_eq!(results, [(0, BLOCK as i32)]);

    // A flush moves nothing and comes back like any other I/O.
    for op in [Op::Fsync, Op::Fdatasync] {
        queue.push(0, Io::flush(op, 0));
        queue.submit(1, LONG).unwrap();
        let mut results = vec![];
        queue.reap(|c| results.push((c.slot, c.result)));
        assert_eq!(results, [(0, 0)], "{op:?}");
    }

    if let Some(beyond) = beyond {
        queue.push(0, Io::read(BLOCKS * BLOCK as u64, BLOCK as u32));
        queue.submit(1, LONG).unwrap();
        let mut results = vec![];
        queue.reap(|c| results.push(c.result));
        assert_eq!(results, [beyond]);
    }
}
