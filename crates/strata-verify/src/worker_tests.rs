//! What becomes of flushes, over a target in memory that answers them as a test says.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use strata_io::{Completion, Io, Op, Queue};

use super::Worker;
use crate::block_states::BlockStates;
use crate::job::Job;
use crate::shared::Shared;
use crate::tally::{End, Tally};

const BS: u32 = 4096;
const BLOCKS: u64 = 64;
/// After this long a flush that never comes back is told.
const NEVER_NS: u64 = 500_000_000;

/// Keeps what is written; `flushed` is the result of every flush, none: it never comes back.
struct Memory {
    disk: Vec<u8>,
    buffers: Vec<Vec<u8>>,
    ready: VecDeque<Completion>,
    flushed: Option<i32>,
    flush_in_flight: bool,
}

impl Queue for Memory {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        &mut self.buffers[slot as usize]
    }

    fn push(&mut self, slot: u32, io: Io) {
        let (at, len) = (io.offset() as usize, io.len() as usize);
        let buffer = &mut self.buffers[slot as usize][..len];
        let result = match io.op() {
            Op::Read => {
                buffer.copy_from_slice(&self.disk[at..at + len]);
                Some(len as i32)
            }
            Op::Write => {
                self.disk[at..at + len].copy_from_slice(buffer);
                Some(len as i32)
            }
            Op::Fsync | Op::Fdatasync => {
                assert!(!self.flush_in_flight, "one flush at a time");
                self.flush_in_flight = true;
                self.flushed
            }
        };
        self.ready.extend(result.map(|result| Completion { slot, result }));
    }

    fn submit(&mut self, _wait: u32, _timeout: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn reap(&mut self, mut f: impl FnMut(Completion)) -> usize {
        // One at a time: a flush completes among other I/Os.
        let Some(completion) = self.ready.pop_front() else { return 0 };
        self.flush_in_flight &= completion.slot as usize != self.buffers.len() - 1;
        f(completion);
        1
    }
}

fn worked(flushed: Option<i32>) -> Tally {
    // One that comes back is never late, however long the machine pauses.
    let stuck_after_ns = if flushed.is_some() { 600_000_000_000 } else { NEVER_NS };
    let job = json!({
        "schema": 1, "target": {"kind": "file", "path": "/nowhere", "direct": false, "dsync": false},
        "endpoint": "memory", "first_byte": 0, "blocks": BLOCKS, "bs": BS, "sector": 512, "iodepth": 4, "threads": 1,
        "order": "random", "seed": 5, "run": 99, "mode": "run", "passes": 1, "write_percent": 100,
        "runtime_ns": null, "flush_every": 16, "journal": null, "loss": "process", "atomic": false,
        "stuck_after_ns": stuck_after_ns, "list": 10, "engine": "auto",
    });
    let job = Arc::new(Job::parse(&job.to_string()).expect("a job"));
    let memory = Memory {
        disk: vec![0; (BLOCKS * u64::from(BS)) as usize],
        buffers: vec![vec![0; BS as usize]; job.slots() as usize],
        ready: VecDeque::new(),
        flushed,
        flush_in_flight: false,
    };
    let states = BlockStates::new(0, BLOCKS, false);
    Worker::new(Arc::clone(&job), 0, memory, states, None, Arc::new(Shared::new(1))).work()
}

#[test]
fn flushes_go_on_beside_the_writes_and_are_counted() {
    let tally = worked(Some(0));
    assert_eq!((tally.end, tally.writes, tally.verified), (End::Done, BLOCKS, BLOCKS));
    assert!((2..=BLOCKS / 16).contains(&tally.flushes), "{}", tally.flushes);
    assert_eq!((tally.flush_failures, tally.flush_unsupported), (0, false));
}

#[test]
fn a_target_without_flushes_is_no_failure() {
    let tally = worked(Some(-libc::EOPNOTSUPP));
    assert_eq!((tally.end, tally.verified), (End::Done, BLOCKS));
    assert_eq!((tally.flushes, tally.flush_failures, tally.flush_unsupported), (0, 0, true));
}

#[test]
fn flushes_that_fail_are_counted() {
    let tally = worked(Some(-libc::EIO));
    assert_eq!((tally.end, tally.verified), (End::Done, BLOCKS));
    assert!(tally.flush_failures >= 2, "{}", tally.flush_failures);
    assert_eq!((tally.flushes, tally.flush_unsupported), (0, false));
}

#[test]
fn a_flush_that_never_comes_back_is_told_with_its_age() {
    let tally = worked(None);
    assert_eq!(tally.end, End::Stuck);
    let [stuck] = &tally.stuck[..] else { panic!("{:?}", tally.stuck) };
    assert_eq!((stuck.op, stuck.offset), ("flush", None));
    assert!(stuck.age_ns > NEVER_NS);
}
