//! One connection of a queue: requests out in batches, replies in as the machine wants them.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::os::fd::{AsRawFd, RawFd};

use super::slots::Slots;
use crate::codec::{Done, ProtoError, REQUEST_LEN, ReplyMachine, Request, Want};
use crate::sock::Socket;

/// Bytes read ahead with one system call.
const AHEAD: usize = 64 * 1024;
/// Requests written with one system call.
const BATCH: usize = 256;

/// A request that is not wholly on the wire yet.
#[derive(Debug)]
struct Outgoing {
    header: [u8; REQUEST_LEN],
    slot: u32,
    payload: u32,
    done: usize,
}

impl Outgoing {
    fn len(&self) -> usize {
        REQUEST_LEN + self.payload as usize
    }
}

/// A connection in its transmission phase.
#[derive(Debug)]
pub(super) struct Link {
    number: usize,
    socket: Socket,
    machine: ReplyMachine,
    out: VecDeque<Outgoing>,
    ahead: Box<[u8]>,
    from: usize,
    to: usize,
}

impl Link {
    pub(super) fn new(number: usize, socket: Socket) -> Self {
        let ahead = vec![0; AHEAD].into_boxed_slice();
        let machine = ReplyMachine::default();
        Self { number, socket, machine, out: VecDeque::new(), ahead, from: 0, to: 0 }
    }

    /// Put a request into the next batch; a write's payload stays in the slot's buffer.
    pub(super) fn push(&mut self, slot: u32, request: &Request) {
        let (header, payload) = (request.encode(), request.payload_len());
        self.out.push_back(Outgoing { header, slot, payload, done: 0 });
    }

    /// The descriptor and what to wait for on it.
    pub(super) fn poll(&self) -> (RawFd, i16) {
        let writes = if self.out.is_empty() { 0 } else { libc::POLLOUT };
        (self.socket.as_raw_fd(), libc::POLLIN | writes)
    }

    /// Best-effort goodbye.
    pub(super) fn leave(&mut self, goodbye: &Request) {
        if self.out.is_empty() {
            let _gone = self.socket.send_now(&[IoSlice::new(&goodbye.encode())]);
        }
    }

    /// Write what waits, as far as the socket takes it.
    ///
    /// # Errors
    /// The connection is gone.
    pub(super) fn send(&mut self, slots: &mut Slots) -> io::Result<()> {
        while !self.out.is_empty() {
            let mut parts = Vec::with_capacity(2 * self.out.len().min(BATCH));
            for item in self.out.iter().take(BATCH) {
                if item.done < REQUEST_LEN {
                    parts.push(IoSlice::new(&item.header[item.done..]));
                }
                if item.payload > 0 {
                    let from = item.done.saturating_sub(REQUEST_LEN);
                    parts.push(IoSlice::new(&slots.payload(item.slot, item.payload)[from..]));
                }
            }
            let sent = self.socket.send_now(&parts);
            let mut sent = match sent {
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            while let Some(front) = self.out.front_mut() {
                let left = front.len() - front.done;
                if sent < left {
                    front.done += sent;
                    break;
                }
                sent -= left;
                slots.sent(front.slot);
                self.out.pop_front();
            }
        }
        Ok(())
    }

    /// Take in every reply that has come. Never waits.
    ///
    /// # Errors
    /// The server closed the connection, or broke the protocol (`InvalidData`).
    pub(super) fn receive(&mut self, slots: &mut Slots) -> io::Result<()> {
        let mut drained = false; // a call that fetched less than it could has emptied the socket
        loop {
            let staged = self.to - self.from;
            let number = self.number;
            let mut done = match self.machine.want() {
                Want::Control(len) if staged >= len => {
                    let bytes = &self.ahead[self.from..self.from + len];
                    self.from += len;
                    self.machine.control(bytes, &mut slots.of(number))?
                }
                Want::Skip(len) if staged > 0 => {
                    let len = len.min(staged as u32);
                    self.from += len as usize;
                    self.machine.skipped(len, &mut slots.of(number))?
                }
                Want::Data { cookie, at, len } if staged > 0 => {
                    let len = len.min(staged as u32);
                    let bytes = &self.ahead[self.from..self.from + len as usize];
                    slots.part(cookie, at, len).copy_from_slice(bytes);
                    self.from += len as usize;
                    self.machine.data(len, &mut slots.of(number))?
                }
                _ if drained => return Ok(()),
                Want::Data { cookie, at, len } => {
                    let place = slots.part(cookie, at, len);
                    let parts = &mut [IoSliceMut::new(place), IoSliceMut::new(&mut self.ahead)];
                    let Some(got) = received((&mut &self.socket).read_vectored(parts))? else {
                        return Ok(());
                    };
                    drained = got < len as usize + AHEAD;
                    let placed = len.min(u32::try_from(got).unwrap_or(u32::MAX));
                    (self.from, self.to) = (0, got - placed as usize);
                    self.machine.data(placed, &mut slots.of(number))?
                }
                Want::Control(_) | Want::Skip(_) => {
                    self.ahead.copy_within(self.from..self.to, 0);
                    (self.from, self.to) = (0, staged);
                    let Some(got) = received((&mut &self.socket).read(&mut self.ahead[staged..]))? else {
                        return Ok(());
                    };
                    drained = got < AHEAD - staged;
                    self.to += got;
                    Done::No
                }
            };
            if let Done::Zero { cookie, at, len } = done {
                slots.part(cookie, at, len).fill(0);
                done = self.machine.zeroed(&mut slots.of(number))?;
            }
            match done {
                Done::No => {}
                Done::Request { cookie, error } => slots.finish(cookie, error),
                Done::Zero { .. } => return Err(ProtoError::BadLength { what: "hole" }.into()),
            }
            if self.from == self.to && slots.in_flight() == 0 {
                return Ok(()); // nothing more can come; spare the call that would say so
            }
        }
    }
}

/// Bytes that came; `None` if none are there now.
fn received(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(got) => Ok(Some(got)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None), // poll will tell again
        Err(error) => Err(error),
    }
}
