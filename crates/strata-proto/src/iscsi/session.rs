//! A session: logged in, and commands one after the other, each waited for.

use std::io::{self, Read, Write};
use std::time::Duration;

use super::login::{Agreed, MAX_RECEIVED, framed, login};
use super::pdu::{
    ASYNC, BHS, Bhs, CDB_AT, CMD_SN_AT, COMMAND, DATA_IN, EXP_STAT_SN_AT, FINAL, IMMEDIATE, ITT_AT,
    LENGTH_AT, LUN_AT, NO_TAG, NOP_IN, NOP_OUT, READ, RESPONSE, SIMPLE, STAT_SN_AT, TTT_AT,
};
use super::scsi::{self, Cdb, Sense};
use super::uri::Uri;
use crate::error::ProtoError;
use crate::line::{Line, NOTICES};
use crate::named::named_as;

/// Unit attentions a unit may raise one after the other.
const ATTENTIONS: u32 = 16;

/// A session of one connection.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) line: Line,
    pub(super) agreed: Agreed,
    uri: Uri,
}

impl Session {
    /// Connect, log in and wait until the unit has told all it has to tell. Waits `patience` and at most 10 s for the
    /// connection, for the whole login, and for each answer.
    pub(super) fn open(uri: &Uri, patience: Duration) -> io::Result<Self> {
        let mut line = uri.dial(patience).map_err(|error| uri.explain("cannot connect", &error))?;
        line.begin();
        let agreed = login(uri, |bhs, data| {
            // However many answers the target makes of it, it is one login.
            line.write_all(&framed(bhs, data))?;
            receive(&mut line)
        });
        let agreed = agreed.map_err(|error| uri.explain("logging in", &error))?;
        let mut session = Self { line, agreed, uri: uri.clone() };
        session.settle().map_err(|error| uri.explain("is the unit ready", &error))?;
        Ok(session)
    }

    /// A command that moves at most `most` bytes here; what came.
    pub(super) fn command(&mut self, what: &str, cdb: Cdb, most: u32) -> io::Result<Vec<u8>> {
        let done = self.carry(cdb, most).and_then(|(status, sense, data)| match status {
            scsi::GOOD => Ok(data),
            status => Err(io::Error::from_raw_os_error(scsi::errno_of(status, sense))),
        });
        done.map_err(|error| self.uri.explain(what, &error))
    }

    /// After a login a unit first tells that something happened to it, instead of carrying out a command.
    fn settle(&mut self) -> io::Result<()> {
        for _ in 0..ATTENTIONS {
            let (status, sense, _) = self.carry(scsi::test_unit_ready(), 0)?;
            match (status, sense) {
                (scsi::GOOD, _) => return Ok(()),
                (_, (scsi::UNIT_ATTENTION, ..)) => {}
                // The target is there and the unit is not.
                (_, (5, 0x25, _)) => {
                    return Err(named_as("the target has no such logical unit", libc::ENXIO));
                }
                (status, sense) => return Err(io::Error::from_raw_os_error(scsi::errno_of(status, sense))),
            }
        }
        Err(named_as("it keeps reporting unit attentions", libc::EAGAIN))
    }

    fn carry(&mut self, cdb: Cdb, most: u32) -> io::Result<(u8, Sense, Vec<u8>)> {
        const TAG: u32 = 2; // only one is in flight
        let flags = FINAL | SIMPLE | if most > 0 { READ } else { 0 };
        let agreed = &mut self.agreed;
        let ask = Bhs::new(COMMAND, flags)
            .bytes(LUN_AT, &self.uri.what.lun_bytes())
            .with(ITT_AT, TAG)
            .with(LENGTH_AT, most)
            .with(CMD_SN_AT, agreed.window.next)
            .with(EXP_STAT_SN_AT, agreed.expected_status)
            .bytes(CDB_AT, &cdb);
        agreed.window.next = agreed.window.next.wrapping_add(1);
        self.line.ask(ask.as_ref())?;
        let (mut data, mut notices) = (Vec::new(), 0);
        while notices < NOTICES {
            let (answer, body) = receive(&mut self.line)?;
            // Data of ours is bounded by what was asked for.
            notices += usize::from(answer.opcode() != DATA_IN || body.is_empty());
            self.agreed.window.told(&answer);
            match answer.opcode() {
                DATA_IN if answer.u32(ITT_AT) == TAG => {
                    if data.len() + body.len() > most as usize {
                        return Err(ProtoError::BadLength { what: "data of a command" }.into());
                    }
                    data.extend(body);
                    if answer.has(1) {
                        self.answered(&answer);
                        return Ok((answer.0[3], (0, 0, 0), data));
                    }
                }
                RESPONSE if answer.u32(ITT_AT) == TAG => {
                    self.answered(&answer);
                    if answer.0[2] != 0 {
                        return Err(io::Error::from_raw_os_error(libc::EIO));
                    }
                    return Ok((answer.0[3], scsi::sense(body.get(2..).unwrap_or(&[])), data));
                }
                NOP_IN => {
                    if let Some(pong) = pong(&answer, &self.agreed) {
                        self.line.write_all(pong.as_ref())?;
                    }
                }
                // That something happened to a unit; the unit says so itself.
                ASYNC if answer.0[36] == 0 => self.answered(&answer),
                other => return Err(ProtoError::BadValue { what: "PDU", got: other.into() }.into()),
            }
        }
        Err(ProtoError::Endless { what: "PDUs that carry nothing" }.into())
    }

    fn answered(&mut self, answer: &Bhs) {
        self.agreed.expected_status = answer.u32(STAT_SN_AT).wrapping_add(1);
    }
}

/// The answer to a target that asks whether we are there.
pub(super) fn pong(ping: &Bhs, agreed: &Agreed) -> Option<Bhs> {
    let tag = ping.u32(TTT_AT);
    let pong = || {
        Bhs::new(NOP_OUT | IMMEDIATE, FINAL)
            .bytes(LUN_AT, &ping.0[LUN_AT..LUN_AT + 8])
            .with(ITT_AT, NO_TAG)
            .with(TTT_AT, tag)
            .with(CMD_SN_AT, agreed.window.next)
            .with(EXP_STAT_SN_AT, agreed.expected_status)
    };
    (tag != NO_TAG).then(pong)
}

fn receive(line: &mut Line) -> io::Result<(Bhs, Vec<u8>)> {
    let mut head = [0; BHS];
    line.read_exact(&mut head)?;
    let bhs = Bhs::parse(&head)?;
    let len = bhs.data_len();
    ProtoError::within("data of a PDU", len.into(), MAX_RECEIVED.into())?;
    let mut data = line.take_bytes(len.next_multiple_of(4) as usize)?;
    data.truncate(len as usize);
    Ok((bhs, data))
}
