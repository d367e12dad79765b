//! One connection of a queue: requests out in batches, replies in as the wire wants them.

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::os::fd::{AsRawFd, RawFd};

use strata_io::Io;

use super::out::Out;
use super::queue::Connection;
use super::slots::{Slots, slot_of};
use super::wire::{Ask, Done, Wire};
use crate::error::ProtoError;
use crate::polling::EmptySteps;
use crate::sock::{Socket, received};
use crate::transport::Want;

/// Bytes read ahead with one system call: many small replies come together.
const AHEAD: usize = 64 * 1024;
/// A run of data from here on is long: what is fetched behind it belongs to one as long, and its data would be copied
/// a second time.
const LONG: u32 = 32 * 1024;
/// Bytes fetched behind a long run: the next head.
const BEHIND: usize = 512;

/// A connection whose handshake is over.
#[derive(Debug)]
pub struct Link<W: Wire> {
    number: usize,
    socket: Socket,
    wire: W,
    out: Out<W::Head>,
    ahead: Box<[u8]>,
    from: usize,
    to: usize,
    /// How much of `ahead` is filled at once, by the length of the last run of data.
    reach: usize,
    empty_steps: EmptySteps,
}

impl<W: Wire> Connection for Link<W> {
    const ONE_AT_A_TIME: bool = W::ONE_AT_A_TIME;
    type Pending = W::Pending;

    /// A write's payload stays in the slot's buffer.
    fn push(&mut self, slot: u32, io: Io, slots: &mut Slots<W::Pending>) -> io::Result<()> {
        if let Some(errno) = self.wire.refuses(io) {
            slots.refuse(slot, errno);
            return Ok(());
        }
        let (op, offset, len) = (io.op(), io.offset(), io.len());
        let cookie = slots.begin(slot, op, len, self.number);
        let ask = Ask { slot, cookie, op, offset, len };
        self.wire.ask(&ask, slots.pending(slot), &mut self.out);
        Ok(())
    }

    fn held(&self) -> usize {
        self.wire.held()
    }

    fn poll(&self) -> (RawFd, i16) {
        let writes = if self.out.is_empty() { 0 } else { libc::POLLOUT };
        (self.socket.as_raw_fd(), libc::POLLIN | writes)
    }

    fn leave(&mut self) {
        if self.out.is_empty()
            && let Some(disconnect) = self.wire.disconnect()
        {
            let _gone = self.socket.send_now(&[IoSlice::new(disconnect.as_ref())]);
        }
    }

    fn send(&mut self, slots: &mut Slots<W::Pending>) -> io::Result<()> {
        self.out.send(&self.socket, slots)
    }

    fn receive(&mut self, slots: &mut Slots<W::Pending>) -> io::Result<()> {
        self.take_in(slots)?;
        self.wire.proceed(&mut self.out);
        self.send(slots)
    }
}

impl<W: Wire> Link<W> {
    pub(super) fn new(number: usize, socket: Socket, wire: W) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let ahead = vec![0; AHEAD].into_boxed_slice();
        let empty_steps = EmptySteps::default();
        Ok(Self {
            number,
            socket,
            wire,
            out: Out::default(),
            ahead,
            from: 0,
            to: 0,
            reach: AHEAD,
            empty_steps,
        })
    }

    pub(super) fn wire(&self) -> &W {
        &self.wire
    }

    fn take_in(&mut self, slots: &mut Slots<W::Pending>) -> io::Result<()> {
        let mut drained = false; // a call that fetched less than it could has emptied the socket
        loop {
            let staged = self.to - self.from;
            let number = self.number;
            let mut done = match self.wire.want() {
                Want::Control(len) if staged >= len => {
                    let bytes = &self.ahead[self.from..self.from + len];
                    self.from += len;
                    let done = self.wire.control(bytes, &mut slots.of(number), &mut self.out)?;
                    if let Want::Data { len, .. } = self.wire.want() {
                        self.reach = if len < LONG { AHEAD } else { BEHIND };
                    }
                    done
                }
                Want::Skip(len) if staged > 0 => {
                    let len = len.min(staged as u32);
                    self.from += len as usize;
                    self.wire.skipped(len, &mut slots.of(number))?
                }
                Want::Data { cookie, at, len } if staged > 0 => {
                    let len = len.min(staged as u32);
                    let bytes = &self.ahead[self.from..self.from + len as usize];
                    slots.part(cookie, at, len).copy_from_slice(bytes);
                    self.from += len as usize;
                    self.empty_steps.over();
                    self.wire.data(len, &mut slots.of(number))?
                }
                _ if drained => return Ok(()),
                Want::Data { cookie, at, len } => {
                    let place = slots.part(cookie, at, len);
                    let behind = &mut self.ahead[..self.reach];
                    let parts = &mut [IoSliceMut::new(place), IoSliceMut::new(behind)];
                    let Some(got) = received((&mut &self.socket).read_vectored(parts))? else {
                        return Ok(());
                    };
                    drained = got < len as usize + self.reach;
                    let placed = len.min(u32::try_from(got).unwrap_or(u32::MAX));
                    (self.from, self.to) = (0, got - placed as usize);
                    self.empty_steps.over();
                    self.wire.data(placed, &mut slots.of(number))?
                }
                want @ (Want::Control(_) | Want::Skip(_)) => {
                    self.ahead.copy_within(self.from..self.to, 0);
                    (self.from, self.to) = (0, staged);
                    let until = if let Want::Control(len) = want { self.reach.max(len) } else { AHEAD };
                    let place = &mut self.ahead[staged..until];
                    let Some(got) = received((&mut &self.socket).read(place))? else {
                        return Ok(());
                    };
                    drained = got < until - staged;
                    self.to += got;
                    Done::No
                }
            };
            if let Done::Zero { cookie, at, len } = done {
                slots.part(cookie, at, len).fill(0);
                done = self.wire.zeroed(&mut slots.of(number))?;
            }
            match done {
                Done::No => self.empty_steps.one_more()?,
                Done::Answered { cookie, answer } => {
                    self.empty_steps.over();
                    slots.finish(slot_of(cookie), answer);
                }
                Done::Zero { .. } => return Err(ProtoError::BadLength { what: "hole" }.into()),
            }
            if self.from == self.to && slots.in_flight() == 0 {
                return Ok(()); // nothing more can come; spare the call that would say so
            }
        }
    }
}
