//! Several connections of one protocol as one queue.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use strata_io::{Completion, Io, Queue};

use super::MAX_PAYLOAD;
use super::link::Link;
use super::slots::{SHORT_DEPTH, Slots};
use super::wire::Wire;
use crate::address::Uri;
use crate::named::{any_number, named_as};
use crate::polling::{PolledConnections, send_and_wait};
use crate::sock::Socket;

/// What a queue is asked to be.
#[derive(Clone, Copy, Debug)]
pub struct OpenSpec {
    /// Requests in flight at most, over all connections.
    pub depth: u32,
    /// Bytes of the longest request.
    pub block: u32,
    /// Connections (of iSCSI: sessions); requests are distributed over them in turn.
    pub connections: u32,
    /// Writes are durable when they are answered (FUA, FILE_SYNC); else the server may keep them until a flush.
    pub dsync: bool,
}

impl OpenSpec {
    /// Whether it is within what any queue takes.
    pub(crate) fn check<T>(&self, uri: &Uri<T>) -> io::Result<()> {
        let (depth, block) = (1..=SHORT_DEPTH, 1..=MAX_PAYLOAD);
        if depth.contains(&self.depth) && block.contains(&self.block) && self.connections > 0 {
            return Ok(());
        }
        let bounds = format!("depth (at most {SHORT_DEPTH}), block (at most {MAX_PAYLOAD} bytes)");
        Err(uri.error(format_args!("{bounds} and connections must be positive"), libc::EINVAL))
    }
}

/// One connection of a queue.
pub trait Connection {
    /// As of [`Wire::ONE_AT_A_TIME`].
    const ONE_AT_A_TIME: bool = false;
    /// What must be known of a request in flight.
    type Pending: Copy + Default;

    /// Requests that it has and that are not answered, where it carries one at a time.
    fn held(&self) -> usize {
        0
    }

    /// Take the slot and put its I/O into the next batch, or refuse it.
    ///
    /// # Errors
    /// The connection is of no use any more.
    fn push(&mut self, slot: u32, io: Io, slots: &mut Slots<Self::Pending>) -> io::Result<()>;

    /// The descriptor and what to wait for on it.
    fn poll(&self) -> (RawFd, i16);

    /// Write what waits, as far as the socket takes it.
    ///
    /// # Errors
    /// The connection is gone.
    fn send(&mut self, slots: &mut Slots<Self::Pending>) -> io::Result<()>;

    /// Take in every reply that has come, and send what they lead to. Never waits.
    ///
    /// # Errors
    /// The server closed the connection, or broke the protocol (`InvalidData`).
    fn receive(&mut self, slots: &mut Slots<Self::Pending>) -> io::Result<()>;

    /// Best-effort disconnect.
    fn leave(&mut self);
}

/// Several connections as one queue; requests are distributed over them in turn.
#[derive(Debug)]
pub struct Connections<C: Connection> {
    name: String,
    links: Vec<C>,
    turn: usize,
    slots: Slots<C::Pending>,
    polls: Vec<libc::pollfd>,
    lost: Option<io::Error>,
}

/// The connections of a [`Wire`].
pub type Transport<W> = Connections<Link<W>>;

impl<W: Wire> Transport<W> {
    /// `depth` requests of at most `block` bytes over these connections, called `name` in errors.
    ///
    /// # Errors
    /// A socket cannot be made to poll.
    pub(crate) fn new(name: String, wires: Vec<(Socket, W)>, depth: u32, block: u32) -> io::Result<Self> {
        let link = |(number, (socket, wire))| Link::new(number, socket, wire);
        let links = wires.into_iter().enumerate().map(link).collect::<io::Result<_>>()?;
        Ok(Self::over(name, links, depth, block))
    }

    /// The wire of the first connection.
    pub(crate) fn first(&self) -> &W {
        self.links[0].wire()
    }
}

impl<C: Connection> Connections<C> {
    /// `depth` requests of at most `block` bytes over these connections, called `name` in errors.
    #[must_use]
    pub fn over(name: String, links: Vec<C>, depth: u32, block: u32) -> Self {
        let (polls, slots) = (Vec::with_capacity(links.len()), Slots::new(depth, block, any_number()));
        Self { name, links, turn: 0, slots, polls, lost: None }
    }

    fn freest(&self) -> usize {
        let held = self.links.iter().map(C::held).enumerate();
        held.min_by_key(|(_, held)| *held).map_or(0, |(number, _)| number)
    }
}

impl<C: Connection> Queue for Connections<C> {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.slots.buffer(slot)
    }

    /// To the connection whose turn it is, or to that which holds the fewest.
    fn push(&mut self, slot: u32, io: Io) {
        let number = if C::ONE_AT_A_TIME { self.freest() } else { self.turn };
        self.turn = (self.turn + 1) % self.links.len();
        if let Err(error) = self.links[number].push(slot, io, &mut self.slots) {
            self.lost.get_or_insert(error);
        }
    }

    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        if self.lost.is_none() {
            match send_and_wait(self, wait, timeout) {
                Ok(()) => return Ok(()),
                Err(error) => self.lost = Some(error),
            }
        }
        // What is in flight comes back by `reap`, the loss is told now and by every later call.
        let Some(lost) = &self.lost else { return Ok(()) };
        let errno = if lost.kind() == io::ErrorKind::InvalidData { libc::EIO } else { libc::ENOTCONN };
        self.slots.fail_all(errno);
        Err(named_as(format_args!("{}: connection lost: {lost}", self.name), errno))
    }

    fn reap(&mut self, mut f: impl FnMut(Completion)) -> usize {
        let count = self.slots.ready.len();
        self.slots.ready.drain(..).for_each(&mut f);
        count
    }

    /// Only this thread writes to the buffers, so the sockets need not stay open for their sake.
    fn abandon(self) {}
}

impl<C: Connection> PolledConnections for Connections<C> {
    fn send(&mut self) -> io::Result<()> {
        self.links.iter_mut().try_for_each(|link| link.send(&mut self.slots))
    }

    fn ready(&self) -> usize {
        self.slots.ready.len()
    }

    fn in_flight(&self) -> usize {
        self.slots.in_flight()
    }

    fn polls(&mut self) -> &mut [libc::pollfd] {
        self.polls.clear();
        self.polls.extend(self.links.iter().map(|link| {
            let (fd, events) = link.poll();
            libc::pollfd { fd, events, revents: 0 }
        }));
        &mut self.polls
    }

    fn turn(&mut self) -> io::Result<()> {
        for (link, poll) in self.links.iter_mut().zip(&self.polls) {
            if poll.revents & libc::POLLOUT != 0 {
                link.send(&mut self.slots)?;
            }
            if poll.revents & !libc::POLLOUT != 0 {
                link.receive(&mut self.slots)?;
            }
        }
        Ok(())
    }
}

impl<C: Connection> Drop for Connections<C> {
    fn drop(&mut self) {
        if self.lost.is_none() {
            self.links.iter_mut().for_each(C::leave);
        }
    }
}
