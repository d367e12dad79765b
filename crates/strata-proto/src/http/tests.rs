//! What an HTTP server may send.

use std::sync::Arc;

use super::head::{self, Body, HEAD_MOST, Span};
use super::wire::Http;
use crate::storm::storm;
use crate::transport::stream::{Came, LEN, feed};

fn came(stream: &[u8]) -> Came {
    let whole = feed(&mut wire(), stream, 1 << 20);
    for piece in [1, 7] {
        assert_eq!(feed(&mut wire(), stream, piece), whole, "in pieces of {piece}");
    }
    whole
}

fn wire() -> Http {
    let common: Arc<[u8]> = b"GET / HTTP/1.1\r\nRange: bytes=".as_slice().into();
    Http::new(common)
}

/// The answer to the read of slot `slot`, of so many bytes.
fn part(slot: u32, bytes: u32) -> Vec<u8> {
    let (first, last) = (slot * LEN, slot * LEN + bytes - 1);
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes {first}-{last}/*\r\nContent-Length: {bytes}\r\n\r\n"
    );
    [head.as_bytes(), &vec![b'\r'; bytes as usize]].concat()
}

fn says(text: &str) -> Vec<u8> {
    text.replace('\n', "\r\n").into_bytes()
}

#[test]
fn parts_come_one_after_the_other_whole_and_short() {
    let stream = [part(0, LEN), says("HTTP/1.1 102 Processing\n\n"), part(1, 5), part(2, LEN)].concat();
    let answers = vec![(0, LEN as i32), (1, 5), (2, LEN as i32)];
    assert_eq!(came(&stream), Came { answers, broken: false });
}

#[test]
fn a_refusal_is_an_errno_and_its_words_are_thrown_away() {
    let refusals = [
        says("HTTP/1.1 503 Slow Down\nTransfer-Encoding: chunked\n\n5;x=y\n<xml>\n1\n!\n0\nTrailer: x\n\n"),
        says("HTTP/1.1 404 Not Found\nContent-Length: 3\n\n---"),
        says("HTTP/1.1 416 Range Not Satisfiable\nContent-Range: bytes */100\nContent-Length: 0\n\n"),
        says("HTTP/1.1 500 Internal Server Error\nContent-Length: 0\n\n"),
    ];
    let came = came(&[refusals.concat()].concat());
    let answers = vec![(0, -libc::EAGAIN), (1, -libc::ENOENT), (2, 0), (3, -libc::EIO)];
    assert_eq!(came, Came { answers, broken: false });
}

#[test]
fn what_cannot_be_is_not_believed() {
    let part =
        |range: &str, length: &str| says(&format!("HTTP/1.1 206 Partial Content\n{range}\n{length}\n\n"));
    let long = format!("Content-Length: {LEN}");
    for wrong in [
        part("Content-Range: bytes 1-8192/9000", &long), // another one
        part("Content-Range: bytes 0-8192/9000", "Content-Length: 8193"), // more than was asked
        part("Content-Range: bytes 0-8190/9000", &long), // two lengths
        part("Content-Range: bytes 9-0/9000", &long),
        part("Content-Range: bytes */9000", &long),
        part("Content-Range: bytes 0-18446744073709551615/*", "Content-Length: 0"),
        part("X: none", &long),
        part("Content-Range: bytes 0-8191/9000", "Transfer-Encoding: chunked"),
        part("Content-Range: bytes 0-8191/9000", &format!("{long}\nContent-Length: 1")),
        part("Content-Range: bytes 0-8191/9000", &format!("{long}\nTransfer-Encoding: chunked")),
        part("Content-Range: bytes 0-8191/9000", &format!("{long}\nConnection: Close")),
        part("Content-Range: bytes 0-8191/9000", "Content-Length: +8192"),
        part("Content-Range: bytes 0-8191/9000", "Transfer-Encoding: gzip"),
        part("Content-Range: bytes 0-8191/9000", &"A: b\n".repeat(65)),
        says("HTTP/1.0 404 Not Found\nContent-Length: 0\n\n"),
        says("HTTP/1.1 200 OK\nContent-Length: 8192\n\n"),
        says("HTTP/1.1 101 Switching Protocols\n\n"),
        says("HTTP/1.1 404 Not Found\n\n"),
        says("HTTP/1.1 404 Not Found\nContent-Length: 65537\n\n"),
        says("HTTP/1.1 404 Not Found\nTransfer-Encoding: chunked\n\n10001\n"),
        says("HTTP/1.1 404 Not Found\nTransfer-Encoding: chunked\n\nffffffffffffffff\n"),
        says("HTTP/1.1 404 Not Found\nTransfer-Encoding: chunked\n\nx\n"),
        says("220 ftp.example\n\n"),
        says("HTTP/1.1 206 Partial Content\nA\n\n"),
    ] {
        let came = came(&wrong);
        assert_eq!(came, Came { answers: vec![], broken: true }, "{:?}", String::from_utf8_lossy(&wrong));
    }
}

#[test]
fn heads_and_lines_without_end_are_given_up() {
    let endless = ["HTTP/1.1 206 Partial Content\r\nA: ".to_owned() + &"a".repeat(HEAD_MOST)];
    let line = format!("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n1;{}", "a".repeat(300));
    for stream in [&endless[0], &line] {
        assert!(came(stream.as_bytes()).broken);
    }
}

#[test]
fn what_nobody_asked_for_ends_the_connection() {
    let mut stream: Vec<u8> = (0..4).flat_map(|slot| part(slot, LEN)).collect();
    stream.extend(part(0, LEN));
    let came = came(&stream);
    assert_eq!((came.answers.len(), came.broken), (4, true));
}

#[test]
fn a_head_is_read_as_it_is_written() {
    let head = head::parse(
        b"HTTP/1.1 206 x\r\nContent-Range:bytes 5-9/10 \r\nCONTENT-LENGTH: 5\r\nETag: \"a b\"\r\n\r\n",
    )
    .expect("sound");
    assert_eq!((head.status, head.body, head.closes), (206, Body::Length(5), false));
    assert_eq!(head.span, Some(Span { first: 5, last: 9 }));
    assert_eq!(head::field(b"HTTP/1.1 200 x\r\nETag: \"a b\"\r\n\r\n", "etag").as_deref(), Some("\"a b\""));
}

#[test]
fn whatever_a_server_sends() {
    let refusal = says("HTTP/1.1 503 x\nTransfer-Encoding: chunked\n\n5\n<xml>\n0\n\n");
    let sound = [[part(0, 64), part(1, LEN)].concat(), part(0, LEN), [refusal, part(1, 9)].concat()];
    storm(&sound, |bytes| {
        feed(&mut wire(), bytes, 1 << 20);
    });
}
