//! Several connections of one protocol as one queue.

use std::io;
use std::time::Duration;

use strata_io::{Completion, Io};

use super::link::Link;
use super::slots::Slots;
use super::wire::Wire;
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

/// The I/Os of one queue over its connections; [`strata_io::Queue`] is made of its methods.
#[derive(Debug)]
pub(crate) struct Transport<W: Wire> {
    name: String,
    links: Vec<Link<W>>,
    turn: usize,
    slots: Slots<W::Pending>,
    polls: Vec<libc::pollfd>,
    lost: Option<io::Error>,
}

impl<W: Wire> Transport<W> {
    /// `depth` requests of at most `block` bytes over these connections, called `name` in errors.
    ///
    /// # Errors
    /// A socket cannot be made to poll.
    pub(crate) fn new(name: String, wires: Vec<(Socket, W)>, depth: u32, block: u32) -> io::Result<Self> {
        wires.iter().try_for_each(|(socket, _)| socket.set_nonblocking(true))?;
        let link = |(number, (socket, wire))| Link::new(number, socket, wire);
        let links: Vec<_> = wires.into_iter().enumerate().map(link).collect();
        let (polls, slots) = (Vec::with_capacity(links.len()), Slots::new(depth, block, any_number()));
        Ok(Self { name, links, turn: 0, slots, polls, lost: None })
    }

    /// The slot's buffer.
    pub(crate) fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.slots.buffer(slot)
    }

    /// Put an I/O into the next batch of the connection whose turn it is, or of that which holds the fewest.
    pub(crate) fn push(&mut self, slot: u32, io: Io) {
        let number = if W::ONE_AT_A_TIME { self.freest() } else { self.turn };
        self.turn = (self.turn + 1) % self.links.len();
        self.links[number].push(slot, io, &mut self.slots);
    }

    fn freest(&self) -> usize {
        let held = self.links.iter().map(Link::held).enumerate();
        held.min_by_key(|(_, held)| *held).map_or(0, |(number, _)| number)
    }

    /// End an I/O that was never sent with `-errno`.
    pub(crate) fn refuse(&mut self, slot: u32, errno: i32) {
        self.slots.ready.push(Completion { slot, result: -errno });
    }

    /// As [`strata_io::Queue::submit`].
    pub(crate) fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
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

    /// As [`strata_io::Queue::reap`].
    pub(crate) fn reap(&mut self, mut f: impl FnMut(Completion)) -> usize {
        let count = self.slots.ready.len();
        self.slots.ready.drain(..).for_each(&mut f);
        count
    }
}

impl<W: Wire> PolledConnections for Transport<W> {
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

impl<W: Wire> Drop for Transport<W> {
    fn drop(&mut self) {
        if self.lost.is_none() {
            self.links.iter_mut().for_each(Link::leave);
        }
    }
}
