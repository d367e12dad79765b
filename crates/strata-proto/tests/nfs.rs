//! The behaviour suite of every queue, on the one over NFS, and what a server may do to it.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

mod nfs_server;
#[path = "../../strata-io/tests/suite/mod.rs"]
mod suite;

use std::time::Duration;

use nfs_server::{Behaviour, PLAIN, Server};
use strata_io::{Io, Op, Queue};
use strata_proto::nfs::{NfsFile, NfsQueue, OpenSpec, Uri};
use suite::{BLOCK, BLOCKS, LONG, behaves};

const SIZE: usize = BLOCK * BLOCKS as usize;
const PATIENCE: Duration = Duration::from_secs(10);

fn file(server: &Server) -> NfsFile {
    NfsFile::open(&server.uri.parse::<Uri>().unwrap(), PATIENCE).unwrap()
}

fn queue(server: &Server, depth: u32, connections: u32, dsync: bool) -> NfsQueue {
    over(&file(server), depth, connections, dsync)
}

fn over(file: &NfsFile, depth: u32, connections: u32, dsync: bool) -> NfsQueue {
    let spec = OpenSpec { depth, block: BLOCK as u32, connections, dsync };
    NfsQueue::open(file, spec, PATIENCE).unwrap()
}

fn one(queue: &mut NfsQueue, op: Op) -> Result<i32, std::io::Error> {
    let len = if op == Op::Fsync { 0 } else { BLOCK as u32 };
    queue.push(0, Io::new(op, 0, 0, len));
    queue.submit(1, Some(LONG))?;
    let mut result = None;
    queue.reap(|completion| result = Some(completion.result));
    Ok(result.unwrap())
}

#[test]
fn the_suite_over_one_and_several_connections() {
    for (depth, connections, dsync) in [(1, 1, false), (3, 1, true), (8, 1, false), (8, 3, false)] {
        let server = Server::start(SIZE, PLAIN);
        assert_eq!(file(&server).size_bytes, SIZE as u64);
        behaves(&mut queue(&server, depth, connections, dsync), depth, true, Some(0));
    }
}

#[test]
fn the_suite_with_replies_in_fragments_and_out_of_order() {
    for fragment in [5, 1000] {
        let server = Server::start(SIZE, Behaviour { fragment, ..PLAIN });
        behaves(&mut queue(&server, 4, 1, false), 4, true, Some(0));
    }
    let server = Server::start(SIZE, Behaviour { reorder: 4, ..PLAIN });
    let mut queue = queue(&server, 4, 1, false);
    for round in 0..8 {
        (0..4).for_each(|slot| queue.buffer(slot).fill(slot as u8 + 1));
        (0..4).for_each(|slot| {
            queue.push(slot, Io::new(Op::Write, 0, u64::from(slot) * BLOCK as u64, BLOCK as u32))
        });
        let seen = all(&mut queue);
        assert_eq!(seen, [3, 2, 1, 0], "round {round}");
        (0..4).for_each(|slot| queue.buffer(slot).fill(0));
        (0..4).for_each(|slot| queue.push(slot, Io::read(u64::from(3 - slot) * BLOCK as u64, BLOCK as u32)));
        all(&mut queue);
        (0..4).for_each(|slot| assert!(queue.buffer(slot).iter().all(|byte| *byte == 4 - slot as u8)));
    }
}

/// Wait for four; their slots in the order of their replies.
fn all(queue: &mut NfsQueue) -> Vec<u32> {
    let mut seen = Vec::new();
    while seen.len() < 4 {
        queue.submit(1, Some(LONG)).unwrap();
        queue.reap(|completion| {
            assert_eq!(completion.result, BLOCK as i32);
            seen.push(completion.slot);
        });
    }
    seen
}

#[test]
fn what_the_server_moves_is_what_is_told() {
    let server = Server::start(SIZE, Behaviour { moves: BLOCK / 2, ..PLAIN });
    let mut short = queue(&server, 1, 1, false);
    assert_eq!(one(&mut short, Op::Write).unwrap(), BLOCK as i32 / 2);
    assert_eq!(one(&mut short, Op::Read).unwrap(), BLOCK as i32 / 2);
    let spec = OpenSpec { depth: 1, block: BLOCK as u32 + 1, connections: 1, dsync: false };
    let refused = NfsQueue::open(&file(&server), spec, PATIENCE).unwrap_err();
    assert!(refused.to_string().contains("at most 8192 bytes in one call"), "{refused}");
}

#[test]
fn a_server_that_was_started_anew_has_lost_writes() {
    for (dsync, last) in [(false, Op::Fsync), (false, Op::Write), (true, Op::Write)] {
        let server = Server::start(SIZE, PLAIN);
        let mut queue = queue(&server, 1, 1, dsync);
        assert_eq!(one(&mut queue, Op::Write).unwrap(), BLOCK as i32);
        server.started_anew();
        let outcome = one(&mut queue, last);
        if dsync {
            assert_eq!(outcome.unwrap(), BLOCK as i32, "what was written was on the medium");
            continue;
        }
        let lost = outcome.unwrap_err();
        assert_eq!(strata_proto::errno(&lost), libc::EIO);
        assert!(lost.to_string().contains("not committed are lost"), "{lost}");
        let mut results = Vec::new();
        queue.reap(|completion| results.push(completion.result));
        assert_eq!(results, [-libc::EIO]);
    }
}

#[test]
fn the_verifier_is_one_for_all_connections() {
    let server = Server::start(SIZE, PLAIN);
    let file = file(&server);
    let (mut writer, mut flusher) = (over(&file, 1, 1, false), over(&file, 1, 1, false));
    one(&mut writer, Op::Write).unwrap();
    server.started_anew();
    assert!(one(&mut flusher, Op::Fsync).is_err());
}

#[test]
fn calls_come_from_reserved_ports_also_when_many_were_used() {
    if !rustix::process::geteuid().is_root() {
        return; // only root has them
    }
    let server = Server::start(SIZE, PLAIN);
    // More connections than there are such ports, in less than the minute for which a closed one is remembered.
    (0..300).for_each(|_| drop(file(&server)));
    let callers = server.callers();
    assert!(callers.len() >= 600);
    assert!(callers.iter().all(|port| (512..1024).contains(port)), "{callers:?}");
}
