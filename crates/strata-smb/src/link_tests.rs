//! A connection against a server that says what a script has it say.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use smb2::types::FileId;

use super::*;
use crate::frame::{PREFIX, prefix};

const LEN: u32 = 512;
/// A read that costs two credits.
const LONG: u32 = 65_537;
const HANDLE: Handle = Handle { session: 1, tree: 1, file: FileId { persistent: 1, volatile: 1 } };

/// One message to the client: the head of `request` as the answer's, and a body.
fn answer(request: &[u8], status: u32, credits: u16, later: bool, body: &[u8]) -> Vec<u8> {
    let mut head = request[PREFIX..PREFIX + HEADER].to_vec();
    head[8..12].copy_from_slice(&status.to_le_bytes());
    head[14..16].copy_from_slice(&credits.to_le_bytes());
    head[16..20].copy_from_slice(&(if later { 3_u32 } else { 1 }).to_le_bytes());
    [&prefix(HEADER + body.len())[..], &head, body].concat()
}

/// The good answer to a read of [`LEN`] bytes.
fn data() -> Vec<u8> {
    let mut body = vec![17, 0, 80, 0];
    body.extend(LEN.to_le_bytes());
    body.extend([0; 8]);
    body.extend([0xDA; LEN as usize]);
    body
}

fn request_from(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; PREFIX];
    stream.read_exact(&mut length).ok()?;
    let mut message = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut message).ok()?;
    Some([&length[..], &message].concat())
}

/// A link to a server that answers each request by `script`.
fn link(
    credits: u32,
    mut script: impl FnMut(&[u8]) -> Vec<u8> + Send + 'static,
) -> (Link, Slots<()>, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let socket = TcpStream::connect(listener.local_addr().expect("its address")).expect("connected");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        while let Some(request) = request_from(&mut stream) {
            if stream.write_all(&script(&request)).is_err() {
                return;
            }
        }
    });
    let link = Link::new(SetupConnection::over(socket, credits), HANDLE, 64, false, true).expect("a link");
    (link, Slots::new(64, LONG, 0), server)
}

/// Carry until `count` are done, or the link ends with an error.
fn carry(link: &mut Link, slots: &mut Slots<()>, count: usize) -> io::Result<Vec<i32>> {
    let mut results = Vec::new();
    while results.len() < count {
        link.send(slots)?;
        let (fd, events) = link.poll();
        let mut poll = libc::pollfd { fd, events, revents: 0 };
        // SAFETY: one pollfd that outlives the call.
        let events = unsafe { libc::poll(&mut poll, 1, 30_000) };
        assert!(events > 0, "{} of {count}, then none for 30 s", results.len());
        link.receive(slots)?;
        results.extend(slots.ready.drain(..).map(|completion| completion.result));
    }
    Ok(results)
}

fn push_reads(link: &mut Link, slots: &mut Slots<()>, count: u32) {
    for slot in 0..count {
        link.push(slot, Io::read(0, LEN), slots).expect("pushed");
    }
}

#[test]
fn credits_that_come_with_a_notice_are_counted() {
    // The notice "later" has the credit, the answer has none: who counts answers alone stops after two.
    let (mut link, mut slots, server) = link(2, |request| {
        let notice = answer(request, 0x103, 1, true, &[9, 0, 0, 0, 0, 0, 0, 0]);
        [notice, answer(request, 0, 0, true, &data())].concat()
    });
    push_reads(&mut link, &mut slots, 20);
    assert_eq!(carry(&mut link, &mut slots, 20).expect("carried"), [LEN as i32; 20]);
    assert!(slots.buffer(0)[..LEN as usize].iter().all(|&byte| byte == 0xDA));
    drop(link);
    server.join().expect("the server ends");
}

#[test]
fn credits_are_begged_for_where_no_answer_will_bring_them() {
    // A read costs two credits and brings one: only an echo, which costs one and brings three, makes up for it.
    let (mut link, mut slots, _server) = link(1, |request| {
        let echo = request[PREFIX + 12] == 13;
        let body = if echo { vec![4, 0, 0, 0] } else { data() };
        answer(request, 0, if echo { 3 } else { 1 }, false, &body)
    });
    for slot in 0..9 {
        link.push(slot, Io::read(0, LONG), &mut slots).expect("pushed");
    }
    assert_eq!(carry(&mut link, &mut slots, 9).expect("carried"), [LEN as i32; 9]);
}

#[test]
fn a_server_that_keeps_all_credits_is_given_up() {
    let (mut link, mut slots, _server) = link(2, |request| answer(request, 0, 0, false, &data()));
    push_reads(&mut link, &mut slots, 3);
    let error = carry(&mut link, &mut slots, 3).expect_err("nothing brings a credit");
    assert!(error.to_string().contains("left 0 credits"), "{error}");
}

#[test]
fn answers_that_cannot_be_are_errors_and_not_data() {
    let long = |claimed: u32| {
        let mut body = data();
        body[4..8].copy_from_slice(&claimed.to_le_bytes());
        body
    };
    for body in [long(LEN + 1), long(u32::MAX), data()[..200].to_vec(), vec![17, 0, 200, 0, 0, 2, 0, 0]] {
        let (mut link, mut slots, _server) = link(2, move |request| answer(request, 0, 1, false, &body));
        push_reads(&mut link, &mut slots, 1);
        let error = carry(&mut link, &mut slots, 1).expect_err("not an answer");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
    }
}

#[test]
fn answers_in_any_pieces_and_chained_are_understood() {
    // An answer to nobody, then two answers of which the first is chained to the second.
    let mut first: Option<Vec<u8>> = None;
    let (mut link, mut slots, _server) = link(2, move |request| {
        let Some(before) = first.take() else {
            first = Some(request.to_vec());
            let mut nobodys = answer(request, 0, 0, false, &data());
            nobodys[PREFIX + 24] ^= 0xFF;
            return nobodys;
        };
        let mut one = answer(&before, 0, 1, false, &data())[PREFIX..].to_vec();
        let next = one.len() as u32;
        one[20..24].copy_from_slice(&next.to_le_bytes());
        let two = answer(request, 0, 1, false, &data());
        [&prefix(one.len() + two.len() - PREFIX)[..], &one, &two[PREFIX..]].concat()
    });
    push_reads(&mut link, &mut slots, 2);
    assert_eq!(carry(&mut link, &mut slots, 2).expect("carried"), [LEN as i32; 2]);
}
