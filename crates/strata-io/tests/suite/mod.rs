//! One behaviour suite for every queue of the load loop, whatever carries it.

use std::collections::HashSet;
use std::time::Duration;

use strata_io::{Completion, Io, Op, Queue};

/// Bytes of a block; the target holds [`BLOCKS`] of them, and every slot one.
pub const BLOCK: usize = 8192;
/// Blocks of the target.
pub const BLOCKS: u64 = 64;
/// Longer than any test takes.
pub const LONG: Duration = Duration::from_secs(60);
/// Each of them lasts a tenth of a second at least, unless a signal comes.
const MOST_WAITS: u32 = 600;

/// What came back, at least one: a wait may end early with none, but not for as long as any test takes.
pub fn awaited<Q: Queue>(queue: &mut Q) -> Vec<Completion> {
    let mut seen = vec![];
    for _ in 0..MOST_WAITS {
        queue.submit(1, Some(LONG)).unwrap();
        let n = queue.reap(|completion| seen.push(completion));
        assert_eq!(n, seen.len());
        if n > 0 {
            return seen;
        }
    }
    panic!("nothing comes back")
}

/// Push `ops` as slots allow; every completion is checked to be one of those in flight.
fn carry<Q: Queue>(
    queue: &mut Q,
    depth: u32,
    op: Op,
    mut each: impl FnMut(&mut Q, u32, u64, bool),
) -> Vec<i32> {
    let (mut free, mut in_flight, mut results) =
        ((0..depth).collect::<Vec<_>>(), vec![None; depth as usize], vec![]);
    let mut next = 0;
    while results.len() < BLOCKS as usize {
        while let (Some(&slot), true) = (free.last(), next < BLOCKS) {
            free.pop();
            each(queue, slot, next, false);
            queue.push(slot, Io::new(op, 0, next * BLOCK as u64, BLOCK as u32));
            in_flight[slot as usize] = Some(next);
            next += 1;
        }
        for Completion { slot, result } in awaited(queue) {
            let block = in_flight[slot as usize].take().expect("in flight");
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
    let results: Vec<_> = awaited(queue).iter().map(|c| (c.slot, c.result)).collect();
    assert_eq!(results, [(0, BLOCK as i32)]);

    // A flush moves nothing and comes back like any other I/O.
    for op in [Op::Fsync, Op::Fdatasync] {
        queue.push(0, Io::flush(op, 0));
        let results: Vec<_> = awaited(queue).iter().map(|c| (c.slot, c.result)).collect();
        assert_eq!(results, [(0, 0)], "{op:?}");
    }

    if let Some(beyond) = beyond {
        queue.push(0, Io::read(BLOCKS * BLOCK as u64, BLOCK as u32));
        let results: Vec<_> = awaited(queue).iter().map(|c| c.result).collect();
        assert_eq!(results, [beyond]);
    }
}
