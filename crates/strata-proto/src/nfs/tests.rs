//! What an NFS server may send.

use std::sync::Arc;

use super::consts::{ATTRIBUTES, BEFORE, FILE_SYNC, UNSTABLE};
use super::verifier::Verifier;
use super::wire::Nfs;
use crate::rpc::{Cred, LAST, Xdr};
use crate::storm::storm;
use crate::transport::stream::{Came, GENERATION, LEN, feed};

fn wire(dsync: bool) -> Nfs {
    Nfs::new(&[7; 32], Cred { uid: 0, gid: 0 }, dsync, Arc::new(Verifier::default()))
}

fn reply(slot: u32, results: Xdr) -> Vec<u8> {
    let name = GENERATION << 14 | slot;
    let head = Xdr::default().u32(name).u32(1).u32(0).u32(0).u32(0).u32(0);
    [head.0, results.0].concat()
}

/// The reply as one record in fragments of at most `piece` bytes.
fn record(reply: &[u8], piece: usize) -> Vec<u8> {
    let count = reply.len().div_ceil(piece);
    let fragment = |(number, bytes): (usize, &[u8])| {
        let last = if number + 1 == count { LAST } else { 0 };
        [&(bytes.len() as u32 | last).to_be_bytes(), bytes].concat()
    };
    reply.chunks(piece).enumerate().flat_map(fragment).collect()
}

fn attributes(there: bool, length: usize) -> Xdr {
    let mut words = Xdr::default().u32(there.into());
    words.0.resize(4 + if there { length } else { 0 }, 9);
    words
}

fn and(parts: &[Xdr]) -> Xdr {
    Xdr(parts.iter().flat_map(|part| part.0.clone()).collect())
}

fn read(slot: u32, bytes: u32, there: bool) -> Vec<u8> {
    let numbers = Xdr::default().u32(bytes).u32(0).opaque(&vec![3; bytes as usize]);
    reply(slot, and(&[Xdr::default().u32(0), attributes(there, ATTRIBUTES), numbers]))
}

fn changed() -> Xdr {
    and(&[attributes(true, BEFORE), attributes(true, ATTRIBUTES)])
}

fn write(slot: u32, bytes: u32, committed: u32, verifier: u64) -> Vec<u8> {
    let numbers = Xdr::default().u32(bytes).u32(committed).u64(verifier);
    reply(slot, and(&[Xdr::default().u32(0), changed(), numbers]))
}

fn commit(slot: u32, verifier: u64) -> Vec<u8> {
    reply(slot, and(&[Xdr::default().u32(0), changed(), Xdr::default().u64(verifier)]))
}

fn came(dsync: bool, replies: &[Vec<u8>]) -> Came {
    let stream: Vec<u8> = replies.iter().flat_map(|reply| record(reply, 1 << 20)).collect();
    feed(&mut wire(dsync), &stream, 1 << 20)
}

#[test]
fn replies_in_any_order_and_fragments() {
    let sound = [
        commit(4, 1),
        read(1, LEN, true),
        write(3, LEN, UNSTABLE, 1),
        read(0, 5, false),
        write(2, 7, FILE_SYNC, 2),
    ];
    let whole = vec![(4, 0), (1, LEN as i32), (3, LEN as i32), (0, 5), (2, 7)];
    for fragment in [1, 3, 4, 28, 100, 1 << 20] {
        let stream: Vec<u8> = sound.iter().flat_map(|reply| record(reply, fragment)).collect();
        for piece in [1, 7, 1 << 20] {
            let came = feed(&mut wire(false), &stream, piece);
            assert_eq!(came, Came { answers: whole.clone(), broken: false }, "{fragment} {piece}");
        }
    }
}

#[test]
fn failures_are_of_one_call() {
    let status = |slot, status| reply(slot, Xdr::default().u32(status).u32(0));
    let denied = Xdr::default().u32(GENERATION << 14 | 3).u32(1).u32(1).u32(1).u32(5).0;
    let came = came(false, &[status(0, 5), status(1, 70), status(2, 28), denied, status(4, 10_008)]);
    let errnos = [libc::EIO, libc::ESTALE, libc::ENOSPC, libc::EACCES, libc::EAGAIN];
    assert_eq!(came.answers, (0..).zip(errnos.map(|errno| -errno)).collect::<Vec<_>>());
    assert!(!came.broken);
}

#[test]
fn a_server_that_was_started_anew_is_noticed() {
    // Writes that are not on the medium, and the flush that should have brought them there.
    for lost in [
        vec![write(2, LEN, UNSTABLE, 1), write(3, LEN, UNSTABLE, 2)],
        vec![write(2, LEN, UNSTABLE, 1), commit(4, 2)],
    ] {
        let came = came(false, &lost);
        assert!(came.broken);
        assert_eq!(came.answers, [(2, LEN as i32)]);
    }
    let kept = came(true, &[write(2, LEN, FILE_SYNC, 1), write(3, LEN, FILE_SYNC, 2)]);
    assert!(!kept.broken, "what is on the medium stays there");
}

#[test]
fn what_cannot_be_is_not_believed() {
    let too_long = read(0, LEN + 1, true);
    let unknown = read(5, 0, true);
    let weaker = write(2, LEN, UNSTABLE, 1);
    let more = write(2, LEN + 1, FILE_SYNC, 1);
    let cut = read(0, LEN, true)[..200].to_vec();
    for (dsync, wrong) in [(false, too_long), (false, unknown), (true, weaker), (true, more), (false, cut)] {
        assert_eq!(came(dsync, &[wrong]), Came { answers: vec![], broken: true });
    }
    assert!(came(false, &[read(0, 0, false), read(0, 0, false)]).broken, "answered twice");
}

#[test]
fn whatever_a_server_sends() {
    let sound: Vec<Vec<u8>> =
        [read(0, 64, true), read(1, 5, false), write(2, LEN, 0, 1), write(3, 9, 2, 7), commit(4, 1)]
            .iter()
            .flat_map(|reply| [record(reply, 1 << 20), record(reply, 24)])
            .collect();
    storm(&[sound.concat(), sound[0].clone(), sound[3].clone()], |bytes| {
        feed(&mut wire(false), bytes, 1 << 20);
    });
}
