//! Ranged reads over HTTP, from a server that answers well and from some that do not.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

mod http_server;
#[allow(dead_code)]
#[path = "../../strata-io/tests/suite/mod.rs"]
mod suite;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use http_server::{Request, Server, answer, part};
use strata_io::{Io, Op, Queue};
use strata_proto::errno;
use strata_proto::http::{HttpQueue, OpenSpec, Session, request};
use suite::awaited;

const BLOCK: usize = 8192;
const SIZE: usize = 64 * BLOCK;
const PATIENCE: Duration = Duration::from_millis(300);

static DATA: LazyLock<Vec<u8>> = LazyLock::new(|| (0..SIZE).map(|at| ((at / 3) ^ (at >> 9)) as u8).collect());

fn data() -> &'static [u8] {
    &DATA
}

type Answers = dyn Fn(&Request) -> (Vec<u8>, bool) + Send + Sync;

fn queue(server: &Server, depth: u32, connections: u32) -> HttpQueue {
    let spec = OpenSpec { depth, block: BLOCK as u32, connections, dsync: false };
    let head = request("GET", "/x?signed=1", "there", &[("X-One", "1")]);
    HttpQueue::open("test", ("127.0.0.1", server.port, None), &head, spec, PATIENCE).unwrap()
}

fn read(queue: &mut HttpQueue, offset: usize) -> Result<i32, std::io::Error> {
    queue.push(0, Io::read(offset as u64, BLOCK as u32));
    queue.submit(1, Some(suite::LONG))?;
    let mut result = None;
    queue.reap(|completion| result = Some(completion.result));
    Ok(result.unwrap())
}

#[test]
fn every_block_comes_into_its_own_buffer_at_any_depth() {
    for (depth, connections) in [(1, 1), (8, 1), (8, 3), (3, 8)] {
        let server = Server::start(|request: &Request| {
            assert_eq!((request.field("host"), request.field("x-one")), (Some("there"), Some("1")));
            assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", "/x?signed=1"));
            (part(request, data()), true)
        });
        let (mut queue, all) = (queue(&server, depth, connections), data());
        let mut at = vec![0; depth as usize];
        let (mut next, mut back) = (0, 0);
        let mut push = |queue: &mut HttpQueue, at: &mut Vec<usize>, slot: u32| {
            if next < 200 {
                at[slot as usize] = next * 7 % 64 * BLOCK;
                queue.push(slot, Io::read(at[slot as usize] as u64, BLOCK as u32));
                next += 1;
            }
        };
        (0..depth).for_each(|slot| push(&mut queue, &mut at, slot));
        while back < 200 {
            for completion in awaited(&mut queue) {
                let (slot, begin) = (completion.slot, at[completion.slot as usize]);
                assert_eq!(completion.result, BLOCK as i32);
                assert!(queue.buffer(slot) == &all[begin..begin + BLOCK], "block at {begin}");
                back += 1;
                push(&mut queue, &mut at, slot);
            }
        }
        while server.connections() < connections as usize {
            thread::yield_now(); // it has not taken them all in yet
        }
    }
}

#[test]
fn a_free_connection_takes_what_a_busy_one_would_keep_waiting() {
    let (held, told) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let (holds, tells) = (Arc::clone(&held), Arc::clone(&told));
    let server = Server::start(move |request: &Request| {
        if request.range() == Some((0, BLOCK - 1)) {
            holds.wait();
        }
        tells.fetch_add(1, Ordering::SeqCst);
        (part(request, data()), true)
    });
    let mut queue = queue(&server, 2, 2);
    queue.push(0, Io::read(0, BLOCK as u32));
    for turn in 1..20 {
        queue.push(1, Io::read(turn * BLOCK as u64, BLOCK as u32));
        assert_eq!(awaited(&mut queue)[0].slot, 1, "the first one is held");
    }
    assert_eq!(told.load(Ordering::SeqCst), 19);
    held.wait();
    assert_eq!(awaited(&mut queue)[0].slot, 0);
}

#[test]
fn the_end_is_short_and_writes_are_refused() {
    let server = Server::start(|request: &Request| (part(request, &data()[..SIZE - 100]), true));
    let mut queue = queue(&server, 1, 1);
    assert_eq!(read(&mut queue, SIZE - BLOCK).unwrap(), BLOCK as i32 - 100);
    assert_eq!(read(&mut queue, 2 * SIZE).unwrap(), 0);
    for op in [Op::Write, Op::Fsync] {
        queue.push(0, Io::new(op, 0, 0, if op == Op::Write { BLOCK as u32 } else { 0 }));
        let done = awaited(&mut queue);
        assert_eq!(done[0].result, -libc::EOPNOTSUPP);
    }
    assert_eq!(read(&mut queue, 0).unwrap(), BLOCK as i32);
}

#[test]
fn a_refusal_is_counted_and_the_connection_goes_on() {
    let server = Server::start(|request: &Request| match request.number {
        0 => (answer("503 Slow Down", "", b"<Error/>"), true),
        1 => (b"HTTP/1.1 500 x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_vec(), true),
        2 => (answer("403 Forbidden", "", b""), true),
        _ => (part(request, data()), true),
    });
    let mut queue = queue(&server, 1, 1);
    let results: Vec<_> = (0..4).map(|_| read(&mut queue, 0).unwrap()).collect();
    assert_eq!(results, [-libc::EAGAIN, -libc::EIO, -libc::EACCES, BLOCK as i32]);
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_server_that_breaks_the_protocol_ends_the_run_with_the_reason() {
    let whole = |request: &Request| part(request, data());
    let cases: [(&str, Arc<Answers>); 6] = [
        ("ignores Range", Arc::new(|_| (answer("200 OK", "", data()), true))),
        ("unexpected end of file", Arc::new(move |request| (whole(request)[..500].to_vec(), false))),
        (
            "needs keep-alive",
            Arc::new(move |request| {
                let text = String::from_utf8_lossy(&whole(request)[..100]).into_owned();
                (text.replacen("\r\n", "\r\nConnection: close\r\n", 1).into_bytes(), false)
            }),
        ),
        (
            "not what was asked for",
            Arc::new(|_| {
                (answer("206 Partial Content", "Content-Range: bytes 1-8192/9000\r\n", &[0; BLOCK]), true)
            }),
        ),
        ("is more than the 16384 accepted", Arc::new(|_| (vec![b'a'; 1 << 20], true))),
        ("carry nothing", Arc::new(|_| (b"HTTP/1.1 102 Processing\r\n\r\n".repeat(1 << 14), true))),
    ];
    for (why, answers) in cases {
        let server = Server::start(move |request: &Request| answers(request));
        let mut queue = queue(&server, 1, 1);
        let error = read(&mut queue, 0).unwrap_err();
        assert!(error.to_string().contains(why), "{error}, not {why}");
        let mut results = vec![];
        queue.reap(|completion| results.push(completion.result));
        assert!(results.len() == 1 && results[0] < 0);
        assert!(queue.submit(0, None).is_err(), "and stays lost");
    }
}

#[test]
fn a_server_that_drips_does_not_hold_the_wait_of_a_queue() {
    let server = Server::start(|_: &Request| {
        thread::sleep(Duration::from_secs(2));
        (vec![], true)
    });
    let (mut queue, begun) = (queue(&server, 1, 1), Instant::now());
    queue.push(0, Io::read(0, BLOCK as u32));
    queue.submit(1, Some(Duration::from_millis(50))).unwrap();
    assert_eq!(queue.reap(|_| ()), 0);
    assert!(begun.elapsed() < Duration::from_secs(2));
}

fn asked(server: &Server, bare: bool, most: u64) -> std::io::Result<strata_proto::http::Answer> {
    let method = if bare { "HEAD" } else { "GET" };
    let mut session = Session::dial("127.0.0.1", server.port, None, PATIENCE)?;
    session.ask(&request(method, "/", "there", &[]), bare, most)
}

#[test]
fn a_single_request_takes_lengths_and_chunks_and_what_has_no_body() {
    let server = Server::start(|_: &Request| (answer("200 OK", "ETag: \"x\"\r\n", b"words"), true));
    let got = asked(&server, false, 10).unwrap();
    assert_eq!(
        (got.head.status, got.body.as_slice(), got.field("etag").as_deref()),
        (200, &b"words"[..], Some("\"x\""))
    );
    let chunked = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nwo\r\n3\r\nrds\r\n0\r\nA: b\r\n\r\n";
    let server = Server::start(|_: &Request| (chunked.to_vec(), true));
    assert_eq!(asked(&server, false, 5).unwrap().body, b"words");
    assert_eq!(errno(&asked(&server, false, 4).unwrap_err()), libc::EPROTO);
    let server =
        Server::start(|_: &Request| (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".to_vec(), true));
    assert_eq!(asked(&server, true, 0).unwrap().body, b"");
}

#[test]
fn a_single_request_is_bounded_in_time_and_memory() {
    let never = |bytes: &'static [u8], times: usize| Server::start(move |_| (bytes.repeat(times), true));
    for (server, why) in [
        (never(b"a", 1 << 20), "is more than the 16384 accepted"),
        (never(b"HTTP/1.1 100 Continue\r\n\r\n", 2000), "interim answers"),
        (
            never(b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n", 1),
            "more than the 99 accepted",
        ),
        (never(b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n", 1), "not a number"),
        (
            never(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 1),
            "chunked body",
        ),
        (never(b"HTTP/1.1 200 OK\r\n\r\n", 1), "where its body ends"),
        (never(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", 1), "no answer within"),
        (never(b"", 0), "no answer within"),
    ] {
        let begun = Instant::now();
        let error = asked(&server, false, 99).unwrap_err();
        assert!(error.to_string().contains(why), "{error}, not {why}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    let gone = Server::start(|_: &Request| (vec![], false));
    assert_eq!(errno(&asked(&gone, false, 9).unwrap_err()), libc::ECONNRESET);
}
