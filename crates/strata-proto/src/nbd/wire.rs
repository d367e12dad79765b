//! NBD's requests and replies on one connection.

use std::io;

use strata_io::{Io, Op};

use crate::nbd::codec::{
    self, Command, Export, Lookup, Pending, REQUEST_LEN, ReplyMachine, Request, Want, consts,
};
use crate::transport::{Answer, Ask, Done, OfLink, Out, Wire};

/// A connection in its transmission phase.
#[derive(Debug)]
pub struct Nbd {
    pub(super) machine: ReplyMachine,
    /// Of each write.
    pub(super) write_flags: u16,
    /// As the server told it.
    pub(super) export: Export,
    /// Whether the server agreed to structured replies.
    pub(super) structured: bool,
}

impl Lookup for OfLink<'_, Pending> {
    fn pending(&mut self, cookie: u64) -> Option<&mut Pending> {
        OfLink::pending(self, cookie)
    }
}

impl Wire for Nbd {
    type Pending = Pending;
    type Head = [u8; REQUEST_LEN];

    fn ask(&mut self, ask: &Ask, pending: &mut Pending, out: &mut Out<Self::Head>) {
        let read_len = if ask.op == Op::Read { ask.len } else { 0 };
        *pending = Pending { read_len, offset: ask.offset, got: 0, error: 0 };
        let (command, flags) = match ask.op {
            Op::Read => (Command::Read, 0),
            Op::Write => (Command::Write, self.write_flags),
            // The protocol has one kind of flush.
            Op::Fsync | Op::Fdatasync => (Command::Flush, 0),
        };
        let request = Request { flags, command, cookie: ask.cookie, offset: ask.offset, length: ask.len };
        out.put(request.encode(), ask.slot, 0, request.payload_len());
    }

    /// A flush where the server offers none: the protocol forbids to ask, a server may hang up on it.
    fn refuses(&self, io: Io) -> Option<i32> {
        let flushes = matches!(io.op(), Op::Fsync | Op::Fdatasync);
        (flushes && !self.export.has(consts::TX_SEND_FLUSH)).then_some(libc::EOPNOTSUPP)
    }

    fn want(&self) -> Want {
        self.machine.want()
    }

    fn control(
        &mut self,
        bytes: &[u8],
        slots: &mut OfLink<'_, Pending>,
        _out: &mut Out<Self::Head>,
    ) -> io::Result<Done> {
        Ok(done(self.machine.control(bytes, slots)?))
    }

    fn data(&mut self, len: u32, slots: &mut OfLink<'_, Pending>) -> io::Result<Done> {
        Ok(done(self.machine.data(len, slots)?))
    }

    fn skipped(&mut self, len: u32, slots: &mut OfLink<'_, Pending>) -> io::Result<Done> {
        Ok(done(self.machine.skipped(len, slots)?))
    }

    fn zeroed(&mut self, slots: &mut OfLink<'_, Pending>) -> io::Result<Done> {
        Ok(done(self.machine.zeroed(slots)?))
    }

    fn disconnect(&mut self) -> Option<Self::Head> {
        let request = Request { flags: 0, command: Command::Disconnect, cookie: 0, offset: 0, length: 0 };
        Some(request.encode())
    }
}

fn done(step: codec::Done) -> Done {
    match step {
        codec::Done::No => Done::No,
        codec::Done::Zero { cookie, at, len } => Done::Zero { cookie, at, len },
        codec::Done::Request { cookie, error: 0 } => Done::Answered { cookie, answer: Answer::Whole },
        codec::Done::Request { cookie, error } => {
            Done::Answered { cookie, answer: Answer::Failed(errno_of(error)) }
        }
    }
}

/// NBD's error numbers are Linux's; one that cannot be an errno is an I/O error.
fn errno_of(error: u32) -> i32 {
    match i32::try_from(error) {
        Ok(errno @ 1..=4095) => errno,
        _ => consts::EIO as i32,
    }
}
