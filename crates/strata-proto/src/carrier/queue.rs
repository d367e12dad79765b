//! Several connections of one protocol as one queue.

use std::io;
use std::time::{Duration, Instant};

use strata_io::{Completion, Io};

use super::link::Link;
use super::slots::Slots;
use super::wire::Wire;
use crate::named::{any_number, named_as};
use crate::sock::Socket;

/// The I/Os of one queue over its connections; [`strata_io::Queue`] is made of its methods.
#[derive(Debug)]
pub(crate) struct Carrier<W: Wire> {
    name: String,
    links: Vec<Link<W>>,
    turn: usize,
    slots: Slots<W::Pending>,
    polls: Vec<libc::pollfd>,
    lost: Option<io::Error>,
}

impl<W: Wire> Carrier<W> {
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

    /// Put an I/O into the next batch of the connection whose turn it is.
    pub(crate) fn push(&mut self, slot: u32, io: Io) {
        let number = self.turn;
        self.turn = (self.turn + 1) % self.links.len();
        self.links[number].push(slot, io, &mut self.slots);
    }

    /// End an I/O that was never sent with `-errno`.
    pub(crate) fn refuse(&mut self, slot: u32, errno: i32) {
        self.slots.ready.push(Completion { slot, result: -errno });
    }

    /// As [`strata_io::Queue::submit`].
    pub(crate) fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        if self.lost.is_none() {
            match self.carry(wait, timeout) {
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

    /// Wait until something happens on a connection; `false` when the time is over or a signal came.
    fn poll(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        self.polls.clear();
        self.polls.extend(self.links.iter().map(|link| {
            let (fd, events) = link.poll();
            libc::pollfd { fd, events, revents: 0 }
        }));
        let wait = timeout.map(|wait| libc::timespec {
            tv_sec: libc::time_t::try_from(wait.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(wait.subsec_nanos()),
        });
        let wait = wait.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: `polls` and the timespec behind `wait` live through the call; no signal mask.
        let events =
            unsafe { libc::ppoll(self.polls.as_mut_ptr(), self.polls.len() as _, wait, std::ptr::null()) };
        if events >= 0 {
            return Ok(events > 0);
        }
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) }
    }

    /// Do what the last poll said is possible.
    fn turn_links(&mut self) -> io::Result<()> {
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

    /// Send, then wait as asked; an error means that a connection is of no use.
    fn carry(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        for link in &mut self.links {
            link.send(&mut self.slots)?;
        }
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut looked = false;
        loop {
            let enough = self.slots.ready.len() >= wait as usize;
            // Without a deadline, and with nothing in flight, nothing would ever end the wait.
            let idle = self.slots.in_flight() == 0;
            if (enough && (looked || idle)) || (idle && deadline.is_none()) {
                return Ok(());
            }
            let left = match deadline {
                _ if enough => Some(Duration::ZERO),
                Some(deadline) => Some(deadline.saturating_duration_since(Instant::now())),
                None => None,
            };
            if !self.poll(left)? {
                return Ok(());
            }
            self.turn_links()?;
            looked = true;
        }
    }
}

impl<W: Wire> Drop for Carrier<W> {
    fn drop(&mut self) {
        if self.lost.is_none() {
            self.links.iter_mut().for_each(Link::leave);
        }
    }
}
