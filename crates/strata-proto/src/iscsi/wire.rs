//! SCSI commands and their answers on the one connection of a session.

use std::collections::VecDeque;
use std::io;

use strata_io::{Io, Op};

use super::login::{Agreed, MAX_RECEIVED};
use super::pdu::{
    ASYNC, BHS, Bhs, CDB_AT, CMD_SN_AT, COMMAND, DATA_IN, DATA_OUT, DATA_SN_AT, EXP_STAT_SN_AT, FINAL,
    IMMEDIATE, ITT_AT, LENGTH_AT, LOGOUT, LUN_AT, NO_TAG, NOP_IN, OFFSET_AT, R2T, READ, REJECT, RESIDUAL_AT,
    RESPONSE, SIMPLE, STAT_SN_AT, TTT_AT, WRITE,
};
use super::scsi;
use super::session::pong;
use crate::error::ProtoError;
use crate::transport::{Answer, Ask, Done, OfLink, Out, Want, Wire, short_name};

const STATUS: u8 = 0x01;
const UNDERFLOW: u8 = 0x02;
const OVERFLOW: u8 = 0x04;

/// A command in flight, as its answers must be compared with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pending {
    len: u32,
    reads: bool,
    writes: bool,
    /// Bytes that have come.
    got: u32,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Head,
    /// Sense data, of which so many bytes are looked at, and what follows is not.
    Sense {
        cookie: u64,
        status: u8,
        look: usize,
        rest: u32,
    },
    Data {
        cookie: u64,
        at: u32,
        len: u32,
        pad: u32,
        end: Option<Answer>,
    },
    Skip {
        len: u32,
        then: Done,
    },
}

/// A session after its login.
#[derive(Debug)]
pub struct Scsi {
    agreed: Agreed,
    lun: [u8; 8],
    block_bytes: u32,
    dsync: bool,
    state: State,
    /// Commands for which the target's window has no room yet.
    kept: VecDeque<Ask>,
}

impl Scsi {
    pub(super) fn new(agreed: Agreed, lun: [u8; 8], block_bytes: u32, dsync: bool) -> Self {
        Self { agreed, lun, block_bytes, dsync, state: State::Head, kept: VecDeque::new() }
    }

    fn send(&mut self, ask: &Ask, out: &mut Out<Bhs>) {
        let direction = match ask.op {
            Op::Read => READ,
            Op::Write => WRITE,
            Op::Fsync | Op::Fdatasync => 0,
        };
        let block = u64::from(self.block_bytes);
        let blocks = ask.len / self.block_bytes;
        let cdb = scsi::of_io(ask.op, ask.offset / block, blocks, self.dsync);
        let (length, now) = match ask.op {
            Op::Write => (ask.len, ask.len.min(self.agreed.terms.immediate)),
            Op::Read => (ask.len, 0),
            Op::Fsync | Op::Fdatasync => (0, 0),
        };
        let head = Bhs::new(COMMAND, FINAL | direction | SIMPLE)
            .with_data_len(now)
            .bytes(LUN_AT, &self.lun)
            .with(ITT_AT, short_name(ask.cookie))
            .with(LENGTH_AT, length)
            .with(CMD_SN_AT, self.agreed.window.next)
            .with(EXP_STAT_SN_AT, self.agreed.expected_status)
            .bytes(CDB_AT, &cdb);
        self.agreed.window.next = self.agreed.window.next.wrapping_add(1);
        out.put_padded(head, ask.slot, 0, now);
    }

    fn send_kept(&mut self, out: &mut Out<Bhs>) {
        while self.agreed.window.is_open()
            && let Some(ask) = self.kept.pop_front()
        {
            self.send(&ask, out);
        }
    }

    fn status_seen(&mut self, pdu: &Bhs) {
        self.agreed.expected_status = pdu.u32(STAT_SN_AT).wrapping_add(1);
    }

    fn head(&mut self, pdu: &Bhs, slots: &mut OfLink<'_, Pending>, out: &mut Out<Bhs>) -> io::Result<Done> {
        let len = pdu.data_len();
        if len > MAX_RECEIVED {
            let (got, limit) = (len.into(), MAX_RECEIVED.into());
            return Err(ProtoError::TooLong { what: "data of a PDU", got, limit }.into());
        }
        match pdu.opcode() {
            DATA_IN => self.data_in(pdu, slots),
            RESPONSE => self.response(pdu, slots),
            R2T => self.ready_to_transfer(pdu, slots, out),
            NOP_IN => {
                if let Some(pong) = pong(pdu, &self.agreed) {
                    out.put_alone(pong);
                }
                Ok(self.past(len.next_multiple_of(4), Done::No))
            }
            // That something happened to a unit; commands that it concerns fail by themselves.
            ASYNC if pdu.0[36] == 0 => {
                self.status_seen(pdu);
                Ok(self.past(len.next_multiple_of(4), Done::No))
            }
            ASYNC => Err(over(format!("the target ends the session (asynchronous message {})", pdu.0[36]))),
            REJECT => Err(over(format!("the target rejects a PDU for reason {:#x}", pdu.0[2]))),
            other => Err(ProtoError::BadValue { what: "PDU", got: other.into() }.into()),
        }
    }

    /// What follows when `len` bytes that interest nobody are past.
    fn past(&mut self, len: u32, then: Done) -> Done {
        if len == 0 {
            self.state = State::Head;
            return then;
        }
        self.state = State::Skip { len, then };
        Done::No
    }

    fn data_in(&mut self, pdu: &Bhs, slots: &mut OfLink<'_, Pending>) -> io::Result<Done> {
        let (cookie, pending) = found(pdu, slots)?;
        let (at, len) = (pdu.u32(OFFSET_AT), pdu.data_len());
        let ends = at.checked_add(len).is_some_and(|end| end <= pending.len);
        if !pending.reads || !ends || at != pending.got {
            return Err(ProtoError::BadValue { what: "offset of data", got: at.into() }.into());
        }
        pending.got += len;
        let moved = pending.got;
        let end = if pdu.has(STATUS) {
            let answer = answer(pdu, pending, moved)?;
            self.status_seen(pdu);
            Some(answer)
        } else {
            None
        };
        let pad = len.wrapping_neg() & 3;
        if len == 0 {
            return Ok(end.map_or(Done::No, |answer| Done::Answered { cookie, answer }));
        }
        self.state = State::Data { cookie, at, len, pad, end };
        Ok(Done::No)
    }

    fn response(&mut self, pdu: &Bhs, slots: &mut OfLink<'_, Pending>) -> io::Result<Done> {
        let (cookie, pending) = found(pdu, slots)?;
        let len = pdu.data_len();
        if pdu.0[2] != 0 {
            self.status_seen(pdu);
            let answer = Answer::Failed(libc::EIO);
            return Ok(self.past(len.next_multiple_of(4), Done::Answered { cookie, answer }));
        }
        let status = pdu.0[3];
        if status == scsi::GOOD || len < 2 {
            let moved = if pending.reads { pending.got } else { pending.len };
            let answer = answer(pdu, pending, moved)?;
            self.status_seen(pdu);
            return Ok(self.past(len.next_multiple_of(4), Done::Answered { cookie, answer }));
        }
        self.status_seen(pdu);
        let look = (len as usize).min(2 + scsi::SENSE);
        let rest = len.next_multiple_of(4) - look as u32;
        self.state = State::Sense { cookie, status, look, rest };
        Ok(Done::No)
    }

    /// The target asks for data of a write.
    fn ready_to_transfer(
        &mut self,
        pdu: &Bhs,
        slots: &mut OfLink<'_, Pending>,
        out: &mut Out<Bhs>,
    ) -> io::Result<Done> {
        let (cookie, pending) = found(pdu, slots)?;
        let (from, len) = (pdu.u32(OFFSET_AT), pdu.u32(RESIDUAL_AT));
        let ends = from.checked_add(len).is_some_and(|end| end <= pending.len);
        if !pending.writes || !ends || len == 0 || pdu.data_len() > 0 {
            return Err(ProtoError::BadValue { what: "offset asked for", got: from.into() }.into());
        }
        let (mut at, mut number) = (from, 0);
        while at < from + len {
            let piece = (from + len - at).min(self.agreed.terms.max_sent);
            let last = at + piece == from + len;
            let head = Bhs::new(DATA_OUT, if last { FINAL } else { 0 })
                .with_data_len(piece)
                .bytes(LUN_AT, &self.lun)
                .with(ITT_AT, short_name(cookie))
                .with(TTT_AT, pdu.u32(TTT_AT))
                .with(EXP_STAT_SN_AT, self.agreed.expected_status)
                .with(DATA_SN_AT, number)
                .with(OFFSET_AT, at);
            out.put_padded(head, cookie as u32, at, piece); // the low half is the slot
            (at, number) = (at + piece, number + 1);
        }
        slots.more_to_send(cookie, number);
        Ok(Done::No)
    }
}

/// The command that a PDU of the target belongs to.
fn found<'a>(pdu: &Bhs, slots: &'a mut OfLink<'_, Pending>) -> io::Result<(u64, &'a mut Pending)> {
    let tag = pdu.u32(ITT_AT);
    let unknown = || ProtoError::UnknownCookie(tag.into());
    let cookie = slots.cookie(tag).ok_or_else(unknown)?;
    Ok((cookie, slots.pending(cookie).ok_or_else(unknown)?))
}

/// How a command ended, from the PDU that holds its status and the bytes that were moved.
fn answer(pdu: &Bhs, pending: &Pending, moved: u32) -> io::Result<Answer> {
    let status = pdu.0[3];
    if status != scsi::GOOD {
        return Ok(Answer::Failed(scsi::errno_of(status, (0, 0, 0))));
    }
    let left = match pdu.flags() & (UNDERFLOW | OVERFLOW) {
        0 => 0,
        UNDERFLOW => pdu.u32(RESIDUAL_AT),
        _ => return Ok(Answer::Failed(libc::EIO)),
    };
    let told = pending.len.checked_sub(left);
    match told {
        Some(told) if told == moved || pending.writes => Ok(Answer::Part(told)),
        None if !pending.reads && !pending.writes => Ok(Answer::Whole),
        _ => Err(ProtoError::BadValue { what: "residual of a command", got: left.into() }.into()),
    }
}

fn over(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, text)
}

impl Wire for Scsi {
    type Pending = Pending;
    type Head = Bhs;

    fn ask(&mut self, ask: &Ask, pending: &mut Pending, out: &mut Out<Bhs>) {
        let (reads, writes) = (ask.op == Op::Read, ask.op == Op::Write);
        *pending = Pending { len: ask.len, reads, writes, got: 0 };
        // In their order: what was kept back goes first.
        self.kept.push_back(*ask);
        self.send_kept(out);
    }

    /// The unit takes whole blocks.
    fn refuses(&self, io: Io) -> Option<i32> {
        let whole = (io.offset() | u64::from(io.len())).is_multiple_of(u64::from(self.block_bytes));
        (matches!(io.op(), Op::Read | Op::Write) && !whole).then_some(libc::EINVAL)
    }

    fn want(&self) -> Want {
        match self.state {
            State::Head => Want::Control(BHS),
            State::Sense { look, .. } => Want::Control(look),
            State::Data { cookie, at, len, .. } => Want::Data { cookie, at, len },
            State::Skip { len, .. } => Want::Skip(len),
        }
    }

    fn control(
        &mut self,
        bytes: &[u8],
        slots: &mut OfLink<'_, Pending>,
        out: &mut Out<Bhs>,
    ) -> io::Result<Done> {
        if let State::Sense { cookie, status, rest, .. } = self.state {
            let sense = scsi::sense(bytes.get(2..).unwrap_or(&[]));
            let answer = Answer::Failed(scsi::errno_of(status, sense));
            return Ok(self.past(rest, Done::Answered { cookie, answer }));
        }
        let pdu = Bhs::parse(bytes)?;
        self.agreed.window.told(&pdu);
        self.send_kept(out);
        self.head(&pdu, slots, out)
    }

    fn data(&mut self, got: u32, _slots: &mut OfLink<'_, Pending>) -> io::Result<Done> {
        let State::Data { cookie, at, len, pad, end } = self.state else {
            return Err(ProtoError::BadLength { what: "data of a PDU" }.into());
        };
        let left = len.checked_sub(got).ok_or(ProtoError::BadLength { what: "data of a PDU" })?;
        if left > 0 {
            self.state = State::Data { cookie, at: at + got, len: left, pad, end };
            return Ok(Done::No);
        }
        Ok(self.past(pad, end.map_or(Done::No, |answer| Done::Answered { cookie, answer })))
    }

    fn skipped(&mut self, got: u32, _slots: &mut OfLink<'_, Pending>) -> io::Result<Done> {
        let State::Skip { len, then } = self.state else {
            return Err(ProtoError::BadLength { what: "PDU" }.into());
        };
        let left = len.checked_sub(got).ok_or(ProtoError::BadLength { what: "PDU" })?;
        Ok(self.past(left, then))
    }

    fn disconnect(&mut self) -> Option<Bhs> {
        let logout = Bhs::new(LOGOUT | IMMEDIATE, FINAL)
            .with(ITT_AT, NO_TAG - 1)
            .with(CMD_SN_AT, self.agreed.window.next)
            .with(EXP_STAT_SN_AT, self.agreed.expected_status);
        Some(logout)
    }
}
