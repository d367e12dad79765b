//! Replies as a state machine of the client: it says what it wants next, the shell fetches it.
//!
//! Data of a read are wanted by place ([`Want::Data`]), so that the shell can receive them
//! straight into the request's own buffer.

use super::{ProtoError, ReplyHeader, Want, consts};
use crate::fields::Fields;

/// Longest control part of a chunk (an error message) that is looked at, in bytes.
const MAX_CONTROL: u32 = 64 * 1024;
/// Bytes of control data that are kept; the rest of a long error message is skipped.
pub(super) const KEPT: usize = 64;

/// A request in flight, as the machine must know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Bytes a read expects, 0 for anything else.
    pub read_len: u32,
    /// First byte of the export a read asks for.
    pub offset: u64,
    /// Bytes of the read that have come so far.
    pub got: u32,
    /// First error that came for it.
    pub error: u32,
}

/// What a step of the machine led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Nothing to do.
    No,
    /// Fill `len` bytes `at` bytes into the buffer of `cookie` with zeroes; call
    /// [`ReplyMachine::zeroed`] after that.
    Zero {
        /// The request.
        cookie: u64,
        /// Place in its buffer, in bytes.
        at: u32,
        /// How many.
        len: u32,
    },
    /// The request is answered: 0 or an NBD error number.
    Request {
        /// The request.
        cookie: u64,
        /// 0 or an error number.
        error: u32,
    },
}

#[derive(Clone, Copy, Debug)]
enum State {
    Magic,
    Header(usize),
    ChunkHead { kind: u16, cookie: u64, last: bool, length: u32, head: usize },
    Data { cookie: u64, at: u32, len: u32, last: bool },
    Skip { cookie: u64, len: u32, last: bool },
    Zero { cookie: u64, last: bool },
}

/// Reads a stream of replies of either kind.
#[derive(Debug)]
pub struct ReplyMachine {
    state: State,
    magic: [u8; 4],
}

impl Default for ReplyMachine {
    fn default() -> Self {
        Self { state: State::Magic, magic: [0; 4] }
    }
}

/// The requests in flight, as the machine looks them up.
pub trait Lookup {
    /// The request of `cookie`, if it is in flight on this connection.
    fn pending(&mut self, cookie: u64) -> Option<&mut Pending>;
}

impl ReplyMachine {
    /// What to fetch next.
    #[must_use]
    pub fn want(&self) -> Want {
        match self.state {
            State::Magic => Want::Control(4),
            State::Header(len) => Want::Control(len - 4),
            State::ChunkHead { head, .. } => Want::Control(head),
            State::Data { cookie, at, len, .. } => Want::Data { cookie, at, len },
            State::Skip { len, .. } => Want::Skip(len),
            State::Zero { .. } => Want::Skip(0),
        }
    }

    /// Eat the control bytes that were wanted. `find` knows the requests in flight.
    ///
    /// # Errors
    /// The server broke the protocol; the connection is of no use any more.
    pub fn control(&mut self, bytes: &[u8], find: &mut impl Lookup) -> Result<Done, ProtoError> {
        match self.state {
            State::Magic => {
                self.magic = *bytes.first_chunk().ok_or(ProtoError::BadLength { what: "reply" })?;
                self.state = State::Header(ReplyHeader::len_of(self.magic)?);
                Ok(Done::No)
            }
            State::Header(_) => {
                let mut header = [0; super::STRUCTURED_LEN];
                let len = 4 + bytes.len();
                let whole = header.get_mut(..len).ok_or(ProtoError::BadLength { what: "reply" })?;
                whole[..4].copy_from_slice(&self.magic);
                whole[4..].copy_from_slice(bytes);
                let header = ReplyHeader::parse(whole)?;
                self.header(header, find)
            }
            State::ChunkHead { kind, cookie, last, length, .. } => {
                let rest = length.saturating_sub(bytes.len() as u32);
                self.chunk_head(kind, cookie, last, rest, bytes, find)
            }
            State::Data { .. } | State::Skip { .. } | State::Zero { .. } => {
                Err(ProtoError::BadLength { what: "reply" })
            }
        }
    }

    /// Tell that `len` bytes of a [`Want::Data`] were put in place.
    ///
    /// # Errors
    /// More came for the request than it asked for.
    pub fn data(&mut self, len: u32, find: &mut impl Lookup) -> Result<Done, ProtoError> {
        let State::Data { cookie, at, len: wanted, last } = self.state else {
            return Err(ProtoError::BadLength { what: "read data" });
        };
        let left = wanted.checked_sub(len).ok_or(ProtoError::BadLength { what: "read data" })?;
        let pending = find.pending(cookie).ok_or(ProtoError::UnknownCookie(cookie))?;
        pending.got = pending.got.saturating_add(len);
        if left > 0 {
            self.state = State::Data { cookie, at: at + len, len: left, last };
            return Ok(Done::No);
        }
        self.end_of_chunk(cookie, last, find)
    }

    /// Tell that `len` bytes of a [`Want::Skip`] were thrown away.
    ///
    /// # Errors
    /// More were skipped than wanted, or the request is unknown.
    pub fn skipped(&mut self, len: u32, find: &mut impl Lookup) -> Result<Done, ProtoError> {
        let State::Skip { cookie, len: wanted, last } = self.state else {
            return Err(ProtoError::BadLength { what: "reply" });
        };
        let left = wanted.checked_sub(len).ok_or(ProtoError::BadLength { what: "reply" })?;
        if left > 0 {
            self.state = State::Skip { cookie, len: left, last };
            return Ok(Done::No);
        }
        self.end_of_chunk(cookie, last, find)
    }

    /// Tell that the zeroes of [`Done::Zero`] are in place.
    ///
    /// # Errors
    /// None were asked for.
    pub fn zeroed(&mut self, find: &mut impl Lookup) -> Result<Done, ProtoError> {
        let State::Zero { cookie, last } = self.state else {
            return Err(ProtoError::BadLength { what: "hole" });
        };
        self.end_of_chunk(cookie, last, find)
    }

    fn header(&mut self, header: ReplyHeader, find: &mut impl Lookup) -> Result<Done, ProtoError> {
        match header {
            ReplyHeader::Simple { error, cookie } => {
                let pending = find.pending(cookie).ok_or(ProtoError::UnknownCookie(cookie))?;
                pending.error = error;
                if error == 0 && pending.read_len > 0 {
                    self.state = State::Data { cookie, at: 0, len: pending.read_len, last: true };
                    return Ok(Done::No);
                }
                self.end_of_chunk(cookie, true, find)
            }
            ReplyHeader::Structured { flags, kind, cookie, length } => {
                let pending = find.pending(cookie).ok_or(ProtoError::UnknownCookie(cookie))?;
                let last = flags & consts::CHUNK_FLAG_DONE != 0;
                let (least, most) = match kind {
                    consts::CHUNK_NONE => (0, 0),
                    consts::CHUNK_OFFSET_DATA => (9, pending.read_len.saturating_add(8)),
                    consts::CHUNK_OFFSET_HOLE => (12, 12),
                    consts::CHUNK_ERROR_OFFSET => (14, MAX_CONTROL),
                    kind if kind & consts::CHUNK_ERROR_BIT != 0 => (6, MAX_CONTROL),
                    other => {
                        return Err(ProtoError::BadValue { what: "chunk type", got: other.into() });
                    }
                };
                if kind == consts::CHUNK_NONE && !last {
                    return Err(ProtoError::BadValue { what: "empty chunk that is not the last", got: 0 });
                }
                if !(least..=most).contains(&length) {
                    return Err(ProtoError::TooLong {
                        what: "reply chunk",
                        got: length.into(),
                        limit: most.into(),
                    });
                }
                if length == 0 {
                    return self.end_of_chunk(cookie, last, find);
                }
                let head = match kind {
                    consts::CHUNK_OFFSET_DATA => 8,
                    consts::CHUNK_OFFSET_HOLE => 12,
                    _ => KEPT.min(length as usize),
                };
                self.state = State::ChunkHead { kind, cookie, last, length, head };
                Ok(Done::No)
            }
        }
    }

    fn chunk_head(
        &mut self,
        kind: u16,
        cookie: u64,
        last: bool,
        rest: u32,
        bytes: &[u8],
        find: &mut impl Lookup,
    ) -> Result<Done, ProtoError> {
        let pending = find.pending(cookie).ok_or(ProtoError::UnknownCookie(cookie))?;
        let mut fields = Fields::new("reply chunk", bytes);
        match kind {
            consts::CHUNK_OFFSET_DATA => {
                let at = place(pending, fields.u64()?, rest)?;
                self.state = State::Data { cookie, at, len: rest, last };
                Ok(Done::No)
            }
            consts::CHUNK_OFFSET_HOLE => {
                let offset = fields.u64()?;
                let len = fields.u32()?;
                let at = place(pending, offset, len)?;
                pending.got = pending.got.saturating_add(len);
                self.state = State::Zero { cookie, last };
                Ok(Done::Zero { cookie, at, len })
            }
            _ => {
                let error = fields.u32()?;
                if pending.error == 0 {
                    // An error chunk that says "no error" is an error all the same.
                    pending.error = if error == 0 { consts::EIO } else { error };
                }
                if rest > 0 {
                    self.state = State::Skip { cookie, len: rest, last };
                    return Ok(Done::No);
                }
                self.end_of_chunk(cookie, last, find)
            }
        }
    }

    fn end_of_chunk(&mut self, cookie: u64, last: bool, find: &mut impl Lookup) -> Result<Done, ProtoError> {
        self.state = State::Magic;
        let pending = find.pending(cookie).ok_or(ProtoError::UnknownCookie(cookie))?;
        if pending.got > pending.read_len {
            return Err(ProtoError::TooLong {
                what: "read data",
                got: pending.got.into(),
                limit: pending.read_len.into(),
            });
        }
        if !last {
            return Ok(Done::No);
        }
        if pending.error == 0 && pending.got != pending.read_len {
            return Err(ProtoError::BadLength { what: "read data" });
        }
        Ok(Done::Request { cookie, error: pending.error })
    }
}

/// Where in the request's buffer `len` bytes at `offset` of the export belong.
fn place(pending: &Pending, offset: u64, len: u32) -> Result<u32, ProtoError> {
    let wrong = ProtoError::BadValue { what: "chunk offset", got: offset };
    let at = offset.checked_sub(pending.offset).ok_or(wrong.clone())?;
    let at = u32::try_from(at).map_err(|_| wrong.clone())?;
    match at.checked_add(len) {
        Some(end) if end <= pending.read_len => Ok(at),
        _ => Err(wrong),
    }
}
