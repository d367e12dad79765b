//! Single requests, one after the other on a connection, each within its wait.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use super::head::{self, Body, END, HEAD_MOST, Head};
use super::wire::next_chunk;
use crate::error::ProtoError;
use crate::line::{Line, NOTICES};

/// Bytes of a body for which room is made at once.
const PIECE: usize = 64 * 1024;

/// The head of a request. `target` and the values must hold no line ends: they are encoded, or come from a head.
#[must_use]
pub fn request(method: &str, target: &str, host: &str, fields: &[(&str, &str)]) -> String {
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: strata\r\n");
    for (name, value) in fields {
        let _never_fails = write!(head, "{name}: {value}\r\n");
    }
    head + "\r\n"
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    /// What of its head matters here.
    pub head: Head,
    /// The body.
    pub body: Vec<u8>,
    fields: Vec<u8>,
}

impl Answer {
    /// The value of a field of the head.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<String> {
        head::field(&self.fields, name)
    }
}

/// A connection on which one request follows the other.
#[derive(Debug)]
pub struct Session {
    line: BufReader<Line>,
}

impl Session {
    /// Connect to `host` from the network namespace at `netns`; `patience`, at most 10 s, is for all of it, and later for
    /// each answer.
    ///
    /// # Errors
    /// The name is not known, nobody listens there, or no answer in time.
    pub fn dial(host: &str, port: u16, netns: Option<&Path>, patience: Duration) -> io::Result<Self> {
        Ok(Self { line: BufReader::new(Line::dial(host, port, netns, patience)?) })
    }

    /// Send a request without a body and take its answer, of which at most `most` bytes of body are accepted. `bare`: the
    /// answer has no body whatever its head says, as that of HEAD.
    ///
    /// # Errors
    /// The server is gone, late, or does not speak HTTP/1.1.
    pub fn ask(&mut self, head: &str, bare: bool, most: u64) -> io::Result<Answer> {
        self.line.get_mut().ask(head.as_bytes())?;
        self.answer(bare, most)
    }

    /// Send a piece of a request; the wait is for this piece.
    ///
    /// # Errors
    /// The server is gone, or does not take it in time.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.line.get_mut().ask(bytes)
    }

    /// The answer to what was sent.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn answer(&mut self, bare: bool, most: u64) -> io::Result<Answer> {
        self.line.get_mut().begin();
        for _ in 0..NOTICES {
            let fields = self.until(END, HEAD_MOST, "head of an answer")?;
            let head = head::parse(&fields)?;
            if matches!(head.status, 100..=199) {
                continue; // later
            }
            let none = bare || matches!(head.status, 204 | 304);
            let body = if none { Vec::new() } else { self.body(head.body, most)? };
            return Ok(Answer { head, body, fields });
        }
        Err(ProtoError::Endless { what: "interim answers" }.into())
    }

    fn body(&mut self, body: Body, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match body {
            Body::Length(length) if length <= most => self.take(length, &mut bytes)?,
            Body::Length(got) => return Err(ProtoError::TooLong { what: "body", got, limit: most }.into()),
            Body::Chunked => {
                let (mut length, mut total);
                loop {
                    let line = self.until(b"\n", 256, "line of a chunk")?;
                    (length, total) = next_chunk(&line, bytes.len() as u64, most)?;
                    if length == 0 {
                        break;
                    }
                    self.take(length, &mut bytes)?;
                    debug_assert_eq!(bytes.len() as u64, total);
                    self.until(b"\n", 2, "end of a chunk")?;
                }
                let mut left = NOTICES;
                while self.until(b"\n", 256, "trailer")? != b"\r\n" {
                    left = left.checked_sub(1).ok_or(ProtoError::Endless { what: "trailers" })?;
                }
            }
            Body::Unsaid => return Err(ProtoError::Http("it does not say where its body ends").into()),
        }
        Ok(bytes)
    }

    /// `length` more bytes, in room that grows with what has come.
    fn take(&mut self, length: u64, into: &mut Vec<u8>) -> io::Result<()> {
        let mut left = length;
        while left > 0 {
            let (from, piece) = (into.len(), left.min(PIECE as u64) as usize);
            into.resize(from + piece, 0);
            self.line.read_exact(&mut into[from..])?;
            left -= piece as u64;
        }
        Ok(())
    }

    /// Bytes up to `end` and with it, at most `most`.
    fn until(&mut self, end: &[u8], most: usize, what: &'static str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end) {
            ProtoError::within(what, bytes.len() as u64 + 1, most as u64)?;
            let &byte = self.line.fill_buf()?.first().ok_or(io::ErrorKind::UnexpectedEof)?;
            self.line.consume(1);
            bytes.push(byte);
        }
        Ok(bytes)
    }
}
