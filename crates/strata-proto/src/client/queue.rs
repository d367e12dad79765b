//! The load loop's carrier over NBD.

use std::io;
use std::time::{Duration, Instant};

use strata_io::{Completion, Io, Op, Queue};

use super::dial::Haggle;
use super::link::Link;
use super::slots::Slots;
use super::uri::Uri;
use crate::codec::{Command, Export, MAX_PAYLOAD, Request, consts};
use crate::named::named_as;

/// What a queue is asked to be.
#[derive(Clone, Copy, Debug)]
pub struct OpenSpec {
    /// Requests in flight at most, over all connections.
    pub depth: u32,
    /// Bytes of the longest request.
    pub block: u32,
    /// Connections; requests are dealt out to them in turn.
    pub connections: u32,
    /// Writes are durable when they are answered (FUA).
    pub dsync: bool,
}

/// A [`Queue`] over one or more connections to one export.
///
/// A flush covers what was answered before it on any connection: several are used only where the server promises one
/// coherent disk. Where the server offers none it completes with `-EOPNOTSUPP` and is not sent.
#[derive(Debug)]
pub struct NbdQueue {
    uri: Uri,
    export: Export,
    structured: bool,
    links: Vec<Link>,
    turn: usize,
    write_flags: u16,
    slots: Slots,
    polls: Vec<libc::pollfd>,
    lost: Option<io::Error>,
}

impl NbdQueue {
    /// Connect to `uri`, waiting at most 10 s for each answer of the handshake.
    ///
    /// # Errors
    /// As [`Self::open_within`].
    pub fn open(uri: &Uri, spec: OpenSpec) -> io::Result<Self> {
        Self::open_within(uri, spec, Duration::MAX)
    }

    /// Connect to `uri`, waiting `patience` and at most 10 s for each answer of the handshake.
    ///
    /// # Errors
    /// The server cannot be reached; it does not offer several connections, FUA or blocks of this
    /// size, but they are asked for. Named with the address and the next step.
    pub fn open_within(uri: &Uri, spec: OpenSpec, patience: Duration) -> io::Result<Self> {
        let refuse = |text: String| Err(named_as(format_args!("{uri}: {text}"), libc::EOPNOTSUPP));
        if spec.depth == 0 || spec.block == 0 || spec.block > MAX_PAYLOAD || spec.connections == 0 {
            let text = format!("depth, block (at most {MAX_PAYLOAD} bytes) and connections must be positive");
            return Err(named_as(format_args!("{uri}: {text}"), libc::EINVAL));
        }
        let mut links = Vec::new();
        let mut seen: Option<(Export, bool)> = None;
        for number in 0..spec.connections as usize {
            let mut haggle = Haggle::start(uri, patience)?;
            haggle.ask_structured()?;
            let export = haggle.go()?;
            if number == 0 && spec.connections > 1 && !export.has(consts::TX_CAN_MULTI_CONN) {
                let text = "the server does not promise one coherent disk over several connections \
                            (CAN_MULTI_CONN); use connections=1";
                return refuse(text.into());
            }
            haggle.socket.set_nonblocking(true)?;
            let structured = haggle.structured;
            links.push(Link::new(number, haggle.socket));
            match &seen {
                Some((first, _)) if first.size_bytes != export.size_bytes => {
                    return refuse("its size differs between two connections".into());
                }
                Some(_) => {}
                None => seen = Some((export, structured)),
            }
        }
        let Some((export, structured)) = seen else { return refuse("no connection".into()) };
        if spec.dsync && !export.has(consts::TX_SEND_FUA) {
            return refuse("the server does not offer FUA, so writes cannot be synchronous".into());
        }
        if let Some(blocks) = export.blocks
            && (spec.block > blocks.maximum || !spec.block.is_multiple_of(blocks.minimum))
        {
            let (least, most) = (blocks.minimum, blocks.maximum);
            return refuse(format!(
                "it takes multiples of {least} bytes up to {most}, not blocks of {}",
                spec.block
            ));
        }
        Ok(Self {
            uri: uri.clone(),
            export,
            structured,
            polls: Vec::with_capacity(links.len()),
            links,
            turn: 0,
            write_flags: if spec.dsync { consts::CMD_FLAG_FUA } else { 0 },
            slots: Slots::new(spec.depth, spec.block),
            lost: None,
        })
    }

    /// The export as the server told it.
    #[must_use]
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Whether the server agreed to structured replies.
    #[must_use]
    pub fn structured(&self) -> bool {
        self.structured
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

    /// Send, then wait as [`Queue::submit`] says; an error means that a connection is of no use.
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

impl Queue for NbdQueue {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.slots.buffer(slot)
    }

    fn push(&mut self, slot: u32, io: Io) {
        let (offset, len, op) = (io.offset(), io.len(), io.op());
        let flushes = matches!(op, Op::Fsync | Op::Fdatasync);
        if flushes && !self.export.has(consts::TX_SEND_FLUSH) {
            // The protocol forbids to ask: a server may hang up on it.
            return self.slots.ready.push(Completion { slot, result: -libc::EOPNOTSUPP });
        }
        let number = self.turn;
        self.turn = (self.turn + 1) % self.links.len();
        let cookie = self.slots.begin(slot, op, offset, len, number);
        let (command, flags) = match op {
            Op::Read => (Command::Read, 0),
            Op::Write => (Command::Write, self.write_flags),
            // The protocol has one kind of flush.
            Op::Fsync | Op::Fdatasync => (Command::Flush, 0),
        };
        self.links[number].push(slot, &Request { flags, command, cookie, offset, length: len });
    }

    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
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
        Err(named_as(format_args!("{}: connection lost: {lost}", self.uri), errno))
    }

    fn reap(&mut self, mut f: impl FnMut(Completion)) -> usize {
        let count = self.slots.ready.len();
        self.slots.ready.drain(..).for_each(&mut f);
        count
    }

    /// Only this thread writes to the buffers, so the sockets need not stay open for their sake.
    fn abandon(self) {}
}

impl Drop for NbdQueue {
    fn drop(&mut self) {
        if self.lost.is_none() {
            let goodbye = Request { flags: 0, command: Command::Disconnect, cookie: 0, offset: 0, length: 0 };
            self.links.iter_mut().for_each(|link| link.leave(&goodbye));
        }
    }
}
