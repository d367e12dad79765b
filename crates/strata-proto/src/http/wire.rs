//! Ranged reads on one connection, one at a time.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;

use strata_io::{Io, Op};

use super::WORDS_MOST;
use super::head::{self, Body, END, HEAD_MOST, Head};
use crate::error::ProtoError;
use crate::transport::{Answer, Ask, Done, OfLink, Out, Want, Wire};

/// Room for two numbers of 20 digits and the end of a head.
const ROOM: usize = 48;
/// Longest line before a chunk, in bytes.
const LINE_MOST: usize = 256;

/// A piece of a request.
#[derive(Debug)]
pub enum Piece {
    /// What all requests of the connection begin with.
    Common(Arc<[u8]>),
    /// The range of one.
    Range([u8; ROOM], u8),
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Common(bytes) => bytes,
            Self::Range(bytes, len) => &bytes[..usize::from(*len)],
        }
    }
}

/// Where in a response it is.
#[derive(Clone, Copy, Debug)]
enum At {
    Head,
    /// `left` bytes of data, of which the first belongs `at` bytes into the buffer.
    Data {
        at: u32,
        left: u32,
    },
    /// The body of a refusal, which nobody wants.
    Words(Rest),
}

/// What is left of a body that is thrown away, and how the request ends behind it.
#[derive(Clone, Copy, Debug)]
struct Rest {
    answer: Answer,
    /// Bytes up to its end, or to the next line of it.
    left: u32,
    /// It comes in chunks; so many bytes of them have come.
    chunks: Option<u64>,
    /// Behind the last chunk: lines up to an empty one.
    trailer: bool,
}

/// A connection on which parts of one resource are read.
#[derive(Debug)]
pub struct Http {
    common: Arc<[u8]>,
    /// The one that is on the wire, and those that wait for it.
    current: Option<Ask>,
    waiting: VecDeque<Ask>,
    at: At,
    /// What has come of a head, or of a line.
    bytes: Vec<u8>,
}

impl Http {
    /// `common`: a request up to the numbers of its range.
    pub(super) fn new(common: Arc<[u8]>) -> Self {
        Self { common, current: None, waiting: VecDeque::new(), at: At::Head, bytes: Vec::new() }
    }

    fn answered(&mut self, head: Head, slots: &mut OfLink<'_, ()>) -> io::Result<Done> {
        let ask = self.current.ok_or(ProtoError::Http("it answers nothing that was asked"))?;
        slots.pending(ask.cookie).ok_or(ProtoError::Http("it came before its request was sent"))?;
        if matches!(head.status, 100 | 102..=199) {
            return Ok(Done::No); // later
        }
        if head.closes {
            let why = "the server ends the connection behind it, and a run needs keep-alive";
            return Err(ProtoError::Http(why).into());
        }
        if head.status == 206 {
            let (Some(span), Body::Length(length)) = (head.span, head.body) else {
                return Err(ProtoError::Http("a part needs Content-Range and Content-Length").into());
            };
            let fits = span.first == ask.offset && span.last - span.first < u64::from(ask.len);
            if !fits || length != span.last - span.first + 1 {
                return Err(ProtoError::Http("its Content-Range is not what was asked for").into());
            }
            self.at = At::Data { at: 0, left: length as u32 }; // at most the request's
            return Ok(Done::No);
        }
        let answer = match head.status {
            200..=299 => {
                return Err(ProtoError::Http("the server ignores Range and sends the whole").into());
            }
            416 => Answer::Part(0), // it ends before
            status => Answer::Failed(errno_of(status)),
        };
        let rest = Rest { answer, left: 0, chunks: None, trailer: false };
        match head.body {
            Body::Length(0) => Ok(self.finished(answer)),
            Body::Length(length) if length <= WORDS_MOST => {
                self.at = At::Words(Rest { left: length as u32, ..rest });
                Ok(Done::No)
            }
            Body::Length(got) => {
                Err(ProtoError::TooLong { what: "body of a refusal", got, limit: WORDS_MOST }.into())
            }
            Body::Chunked => {
                self.at = At::Words(Rest { chunks: Some(0), ..rest });
                Ok(Done::No)
            }
            Body::Unsaid => Err(ProtoError::Http("it does not say where its body ends").into()),
        }
    }

    /// A line of a chunked body: the length of the next chunk, or a trailer.
    fn line(&mut self, mut rest: Rest) -> io::Result<Done> {
        if self.bytes.len() > LINE_MOST {
            let (got, limit) = (self.bytes.len() as u64, LINE_MOST as u64);
            return Err(ProtoError::TooLong { what: "line of a chunk", got, limit }.into());
        }
        if !self.bytes.ends_with(b"\r\n") {
            return Ok(Done::No);
        }
        let line = std::mem::take(&mut self.bytes);
        if rest.trailer {
            return Ok(if line.len() == 2 { self.finished(rest.answer) } else { Done::No });
        }
        let (length, total) = next_chunk(&line, rest.chunks.unwrap_or_default(), WORDS_MOST)?;
        rest.chunks = Some(total);
        rest.trailer = length == 0;
        rest.left = if length == 0 { 0 } else { length as u32 + 2 }; // and the end of its line
        self.at = At::Words(rest);
        Ok(Done::No)
    }

    fn finished(&mut self, answer: Answer) -> Done {
        self.at = At::Head;
        match self.current.take() {
            Some(Ask { cookie, .. }) => Done::Answered { cookie, answer },
            None => Done::No,
        }
    }
}

/// The length of a chunk by its line, and with it of all chunks up to it, at most `most` bytes.
pub(super) fn next_chunk(line: &[u8], before: u64, most: u64) -> Result<(u64, u64), ProtoError> {
    let Ok(httparse::Status::Complete((_, length))) = httparse::parse_chunk_size(line) else {
        return Err(ProtoError::Http("the length of a chunk is not a number"));
    };
    match before.checked_add(length) {
        Some(total) if total <= most => Ok((length, total)),
        _ => Err(ProtoError::TooLong { what: "chunked body", got: length, limit: most }),
    }
}

/// The nearest errno of a refusal.
#[must_use]
pub fn errno_of(status: u16) -> i32 {
    match status {
        401 | 403 => libc::EACCES,
        404 | 410 => libc::ENOENT,
        408 | 504 => libc::ETIMEDOUT,
        409 | 412 => libc::EEXIST,
        416 => libc::EINVAL,
        429 | 503 => libc::EAGAIN,
        507 => libc::ENOSPC,
        405 | 501 => libc::EOPNOTSUPP,
        400..=499 => libc::EINVAL,
        _ => libc::EIO,
    }
}

impl Wire for Http {
    type Pending = ();
    type Head = Piece;
    const ONE_AT_A_TIME: bool = true;

    fn ask(&mut self, ask: &Ask, _pending: &mut (), out: &mut Out<Piece>) {
        self.waiting.push_back(*ask);
        self.proceed(out);
    }

    /// A resource is read, and nothing else.
    fn refuses(&self, io: Io) -> Option<i32> {
        (io.op() != Op::Read || io.is_empty()).then_some(libc::EOPNOTSUPP)
    }

    fn proceed(&mut self, out: &mut Out<Piece>) {
        if self.current.is_some() {
            return;
        }
        let Some(ask) = self.waiting.pop_front() else { return };
        let (mut bytes, last) = ([0; ROOM], ask.offset + u64::from(ask.len) - 1);
        let mut room = &mut bytes[..];
        let fits = write!(room, "{}-{last}\r\n\r\n", ask.offset);
        assert!(fits.is_ok(), "two numbers fit");
        let len = (ROOM - room.len()) as u8; // ROOM is below 256
        out.put_alone(Piece::Common(self.common.clone()));
        out.put(Piece::Range(bytes, len), ask.slot, 0, 0);
        self.current = Some(ask);
    }

    fn held(&self) -> usize {
        self.waiting.len() + usize::from(self.current.is_some())
    }

    fn want(&self) -> Want {
        match (self.at, self.current) {
            (At::Data { at, left }, Some(Ask { cookie, .. })) => Want::Data { cookie, at, len: left },
            (At::Words(Rest { left: 0, .. }), _) => Want::Control(1),
            (At::Words(Rest { left, .. }), _) => Want::Skip(left),
            _ => Want::Control(to_the_end(&self.bytes)),
        }
    }

    fn control(
        &mut self,
        bytes: &[u8],
        slots: &mut OfLink<'_, ()>,
        _out: &mut Out<Piece>,
    ) -> io::Result<Done> {
        self.bytes.extend_from_slice(bytes);
        if let At::Words(rest) = self.at {
            return self.line(rest);
        }
        if self.bytes.ends_with(END) {
            let head = head::parse(&self.bytes);
            self.bytes.clear();
            return self.answered(head?, slots);
        }
        if self.bytes.len() > HEAD_MOST {
            let (got, limit) = (self.bytes.len() as u64, HEAD_MOST as u64);
            return Err(ProtoError::TooLong { what: "head of an answer", got, limit }.into());
        }
        Ok(Done::No)
    }

    fn data(&mut self, len: u32, _slots: &mut OfLink<'_, ()>) -> io::Result<Done> {
        let (At::Data { at, left }, Some(ask)) = (self.at, self.current) else {
            return Err(ProtoError::BadLength { what: "data" }.into());
        };
        let (at, left) = (at + len, left - len);
        self.at = At::Data { at, left };
        Ok(match left {
            0 if at == ask.len => self.finished(Answer::Whole),
            0 => self.finished(Answer::Part(at)),
            _ => Done::No,
        })
    }

    fn skipped(&mut self, len: u32, _slots: &mut OfLink<'_, ()>) -> io::Result<Done> {
        let At::Words(rest) = self.at else {
            return Err(ProtoError::BadLength { what: "body of a refusal" }.into());
        };
        let left = rest.left - len;
        self.at = At::Words(Rest { left, ..rest });
        Ok(if left == 0 && rest.chunks.is_none() { self.finished(rest.answer) } else { Done::No })
    }
}

/// Bytes that must come at least until a head ends of which these have come: asking for no more never reads beyond it.
fn to_the_end(bytes: &[u8]) -> usize {
    let seen = (1..END.len()).rev().find(|seen| bytes.ends_with(&END[..*seen]));
    END.len() - seen.unwrap_or(0)
}
