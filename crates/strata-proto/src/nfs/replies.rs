//! Replies of one connection as a state machine, whatever the fragments they come in.

use std::io;
use std::sync::Arc;

use strata_io::Op;

use super::consts::{ATTRIBUTES, BEFORE, FILE_SYNC, UNSTABLE, errno_of};
use super::verifier::Verifier;
use super::wire::Pending;
use crate::error::ProtoError;
use crate::fields::Fields;
use crate::rpc::{Header, LAST, MARK_LEN, header};
use crate::transport::{Answer, Done, OfLink};
use crate::transport::{MAX_PAYLOAD, Want};

/// Most bytes of a reply beside the data of a read: heads, attributes, a verifier, and room to spare.
const MAX_BESIDE: u32 = 4096;

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// So many bytes of the reply's head are needed.
    Head(usize),
    /// `len` bytes of a read are still to come.
    Data { cookie: u64, at: u32, len: u32 },
    /// What is left of the record interests nobody.
    Rest { cookie: u64, answer: Answer },
}

/// Reads a stream of records.
#[derive(Debug)]
pub(super) struct Replies {
    phase: Phase,
    head: Vec<u8>,
    /// Bytes left of this fragment.
    left: u32,
    /// Whether it is the record's last one.
    last: bool,
    /// Bytes of this record, in the fragments so far.
    record: u32,
    verifier: Arc<Verifier>,
}

/// Where the head of a reply leads.
enum Step {
    Need(usize),
    Data { cookie: u64, len: u32 },
    Answered { cookie: u64, answer: Answer },
}

/// No reply is shorter.
const BEGIN: Phase = Phase::Head(20);

impl Replies {
    pub(super) fn new(verifier: Arc<Verifier>) -> Self {
        Self { phase: BEGIN, head: Vec::with_capacity(256), left: 0, last: false, record: 0, verifier }
    }

    pub(super) fn want(&self) -> Want {
        if self.left == 0 {
            return Want::Control(MARK_LEN);
        }
        match self.phase {
            Phase::Head(need) => Want::Control((need - self.head.len()).min(self.left as usize)),
            Phase::Data { cookie, at, len } => Want::Data { cookie, at, len: len.min(self.left) },
            Phase::Rest { .. } => Want::Skip(self.left),
        }
    }

    pub(super) fn control(&mut self, bytes: &[u8], slots: &mut OfLink<'_, Pending>) -> io::Result<Done> {
        if self.left == 0 {
            self.mark(Fields::new("record mark", bytes).u32()?)?;
        } else {
            self.take(bytes.len() as u32)?;
            self.head.extend(bytes);
            while let Phase::Head(need) = self.phase
                && self.head.len() >= need
            {
                self.phase = match self.look(slots)? {
                    Step::Need(need) => Phase::Head(need),
                    Step::Data { cookie, len } => Phase::Data { cookie, at: 0, len },
                    Step::Answered { cookie, answer } => Phase::Rest { cookie, answer },
                };
            }
        }
        self.end_of_record()
    }

    pub(super) fn data(&mut self, got: u32) -> io::Result<Done> {
        let Phase::Data { cookie, at, len } = self.phase else {
            return Err(ProtoError::BadLength { what: "READ data" }.into());
        };
        self.take(got)?;
        let left = len.checked_sub(got).ok_or(ProtoError::BadLength { what: "READ data" })?;
        self.phase = if left > 0 {
            Phase::Data { cookie, at: at + got, len: left }
        } else {
            Phase::Rest { cookie, answer: Answer::Part(at + got) }
        };
        self.end_of_record()
    }

    pub(super) fn skipped(&mut self, len: u32) -> io::Result<Done> {
        self.take(len)?;
        self.end_of_record()
    }

    fn take(&mut self, len: u32) -> Result<(), ProtoError> {
        self.left = self.left.checked_sub(len).ok_or(ProtoError::BadLength { what: "record" })?;
        Ok(())
    }

    fn mark(&mut self, mark: u32) -> Result<(), ProtoError> {
        (self.left, self.last) = (mark & !LAST, mark & LAST != 0);
        self.record = self.record.saturating_add(self.left);
        let limit = MAX_PAYLOAD + MAX_BESIDE;
        if self.record > limit {
            return Err(ProtoError::TooLong {
                what: "reply record",
                got: self.record.into(),
                limit: limit.into(),
            });
        }
        Ok(())
    }

    fn end_of_record(&mut self) -> io::Result<Done> {
        if self.left > 0 || !self.last {
            return Ok(Done::No);
        }
        let Phase::Rest { cookie, answer } = self.phase else {
            return Err(ProtoError::BadLength { what: "NFS reply" }.into());
        };
        self.phase = BEGIN;
        self.head.clear();
        (self.last, self.record) = (false, 0);
        Ok(Done::Answered { cookie, answer })
    }

    /// What the head that has come so far says.
    fn look(&self, slots: &mut OfLink<'_, Pending>) -> io::Result<Step> {
        let head = &self.head[..];
        let name = Fields::new("NFS reply", head).u32()?;
        let cookie = slots.cookie(name).ok_or(ProtoError::UnknownCookie(name.into()))?;
        let Some(pending) = slots.pending(cookie).copied() else {
            return Err(ProtoError::UnknownCookie(name.into()).into());
        };
        let results = match header(head)? {
            Header::Need(need) => return Ok(Step::Need(need)),
            Header::Refused(errno) => return Ok(Step::Answered { cookie, answer: Answer::Failed(errno) }),
            Header::Accepted(at) => at,
        };
        if head.len() < results + 4 {
            return Ok(Step::Need(results + 4));
        }
        let mut fields = Fields::new("NFS reply", &head[results..]);
        let status = fields.u32()?;
        if status != 0 {
            return Ok(Step::Answered { cookie, answer: Answer::Failed(errno_of(status)) });
        }
        match pending.op {
            Op::Read => read(fields, results + 4, head.len(), cookie, pending),
            Op::Write => self.write(fields, results + 4, head.len(), cookie, pending),
            Op::Fsync | Op::Fdatasync => self.commit(fields, results + 4, head.len(), cookie),
        }
    }

    fn write(
        &self,
        mut fields: Fields<'_>,
        at: usize,
        have: usize,
        cookie: u64,
        pending: Pending,
    ) -> io::Result<Step> {
        let at = match changes(&mut fields, at, have)? {
            Ok(at) => at,
            Err(need) => return Ok(Step::Need(need)),
        };
        if have < at + 16 {
            return Ok(Step::Need(at + 16));
        }
        let (count, committed, verifier) = (fields.u32()?, fields.u32()?, fields.u64()?);
        if count > pending.len {
            return Err(ProtoError::BadValue { what: "bytes written", got: count.into() }.into());
        }
        if committed > FILE_SYNC || committed < pending.stable {
            return Err(ProtoError::BadValue { what: "durability of a write", got: committed.into() }.into());
        }
        if committed == UNSTABLE {
            self.verifier.check(verifier)?;
        }
        Ok(Step::Answered { cookie, answer: Answer::Part(count) })
    }

    fn commit(&self, mut fields: Fields<'_>, at: usize, have: usize, cookie: u64) -> io::Result<Step> {
        let at = match changes(&mut fields, at, have)? {
            Ok(at) => at,
            Err(need) => return Ok(Step::Need(need)),
        };
        if have < at + 8 {
            return Ok(Step::Need(at + 8));
        }
        self.verifier.check(fields.u64()?)?;
        Ok(Step::Answered { cookie, answer: Answer::Whole })
    }
}

fn read(mut fields: Fields<'_>, at: usize, have: usize, cookie: u64, pending: Pending) -> io::Result<Step> {
    const NUMBERS: usize = 12; // count, end of file, length of the data
    if have < at + 4 {
        return Ok(Step::Need(at + 4));
    }
    let attributes = if flag(fields.u32()?)? { ATTRIBUTES } else { 0 };
    let need = at + 4 + attributes + NUMBERS;
    if have < need {
        return Ok(Step::Need(need));
    }
    fields.take(attributes)?;
    let (count, _end, len) = (fields.u32()?, fields.u32()?, fields.u32()?);
    if len > pending.len {
        let (got, limit) = (len.into(), pending.len.into());
        return Err(ProtoError::TooLong { what: "READ data", got, limit }.into());
    }
    if count != len {
        return Err(ProtoError::BadValue { what: "count of a READ", got: count.into() }.into());
    }
    Ok(match len {
        0 => Step::Answered { cookie, answer: Answer::Part(0) },
        len => Step::Data { cookie, len },
    })
}

/// Past what the server says of the file before and after: the place behind it, or how many bytes are needed.
fn changes(fields: &mut Fields<'_>, at: usize, have: usize) -> Result<Result<usize, usize>, ProtoError> {
    let mut at = at;
    for length in [BEFORE, ATTRIBUTES] {
        if have < at + 4 {
            return Ok(Err(at + 4));
        }
        let there = if flag(fields.u32()?)? { length } else { 0 };
        at += 4 + there;
        if have < at {
            return Ok(Err(at));
        }
        fields.take(there)?;
    }
    Ok(Ok(at))
}

fn flag(word: u32) -> Result<bool, ProtoError> {
    match word {
        0 | 1 => Ok(word == 1),
        other => Err(ProtoError::BadValue { what: "flag of an NFS reply", got: other.into() }),
    }
}
