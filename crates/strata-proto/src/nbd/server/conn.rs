//! One connection's way out: replies, late or at once.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use super::admission::{Budget, InFlight, Ticket};
use super::buffers::Buffer;
use super::clock::{Clock, precise_timers};
use super::delay_queue::DelayQueue;
use super::pace::Pace;
use crate::lock::lock;
use crate::sock::Socket;

/// Replies that go out with one system call.
const BATCH: usize = 64;

/// An encoded reply on its way to the client.
#[derive(Debug)]
pub(super) struct Reply {
    head: [u8; 32],
    head_len: usize,
    body: Option<Buffer>,
    sent: usize,
    _ticket: Ticket,
}

impl Reply {
    /// A reply of `head` (at most 32 bytes) and, for a read, its data.
    pub(super) fn new(head: &[u8], body: Option<Buffer>, ticket: Ticket) -> Self {
        let mut bytes = [0; 32];
        bytes[..head.len()].copy_from_slice(head);
        Self { head: bytes, head_len: head.len(), body, sent: 0, _ticket: ticket }
    }

    /// Bytes on the wire.
    pub(super) fn len(&self) -> usize {
        self.head_len + self.body.as_ref().map_or(0, |body| body.len())
    }

    fn parts<'a>(&'a self, into: &mut Vec<IoSlice<'a>>) {
        if self.sent < self.head_len {
            into.push(IoSlice::new(&self.head[self.sent..self.head_len]));
        }
        if let Some(body) = &self.body {
            let from = self.sent.saturating_sub(self.head_len);
            into.push(IoSlice::new(&body[from..]));
        }
    }
}

/// The sending half of a connection.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) socket: Arc<Socket>,
    pub(super) structured: bool,
    pub(super) tx_flags: u16,
    pub(super) flight: Arc<InFlight>,
    clock: Clock,
    /// Replies that are not due yet, or found the socket full; `None` only wakes the writer.
    late: DelayQueue<Option<Reply>>,
    /// The right to write to the socket, and what must go first because it went out in part.
    wire: Mutex<VecDeque<Reply>>,
    over: AtomicBool,
}

impl Conn {
    pub(super) fn new(
        socket: Arc<Socket>,
        structured: bool,
        tx_flags: u16,
        clock: Clock,
        budget: &Arc<Budget>,
    ) -> Self {
        Self {
            socket,
            structured,
            tx_flags,
            flight: Arc::new(InFlight::within(budget)),
            clock,
            late: DelayQueue::new(clock),
            wire: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    /// Whether nobody will read replies any more.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// End the connection: the reader and the writer leave, waiting replies are dropped.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.socket.shutdown();
        self.flight.end();
        self.late.close();
    }

    /// Send one reply at `due_ns`, or now if that has passed. Never waits for the client.
    pub(super) fn send(&self, due_ns: u64, reply: Reply) {
        if self.is_over() {
            return;
        }
        if due_ns > self.clock.now_ns() {
            self.late.push(due_ns, Some(reply));
        } else {
            self.send_due(&mut VecDeque::from([reply]));
        }
    }

    /// Send replies that are due, as far as the socket takes them without waiting; the writer
    /// thread gets the rest. Leaves `replies` empty.
    pub(super) fn send_due(&self, replies: &mut VecDeque<Reply>) {
        let mut wire = match self.wire.try_lock() {
            Ok(wire) => wire,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                // Somebody else writes, perhaps slowly; the order of replies is free.
                replies.drain(..).for_each(|reply| self.late.push(0, Some(reply)));
                return;
            }
        };
        if wire.is_empty() {
            match write_some(replies, |parts| self.socket.send_now(parts)) {
                Ok(()) => return,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_gone) => {
                    replies.clear();
                    drop(wire);
                    self.end();
                    return;
                }
            }
        }
        wire.append(replies);
        drop(wire);
        self.late.push(0, None);
    }

    /// The writer thread: late replies and leftovers, until the connection ends.
    pub(super) fn write_late(&self) {
        precise_timers();
        while let Some((_, first)) = self.late.pop() {
            let mut wire = lock(&self.wire);
            wire.extend(first);
            while wire.len() < BATCH
                && let Some(next) = self.late.pop_due()
            {
                wire.extend(next);
            }
            let mut pace = Pace::begin();
            let written = write_some(&mut wire, |parts| {
                let taken = (&mut &*self.socket).write_vectored(parts)?;
                pace.moved(taken).map(|()| taken)
            });
            if written.is_err() || self.is_over() {
                wire.clear();
                drop(wire);
                self.end();
                return;
            }
        }
        lock(&self.wire).clear();
    }
}

/// Write `replies` front to back with `write` until none is left or it fails; what went out whole
/// is dropped from the front.
fn write_some(
    replies: &mut VecDeque<Reply>,
    mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
) -> io::Result<()> {
    while !replies.is_empty() {
        let mut parts = Vec::with_capacity(2 * BATCH);
        replies.iter().take(BATCH).for_each(|reply| reply.parts(&mut parts));
        let written = write(&parts);
        drop(parts);
        let mut sent = match written {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(sent) => sent,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        while let Some(front) = replies.front_mut() {
            let left = front.len() - front.sent;
            if sent < left {
                front.sent += sent;
                break;
            }
            sent -= left;
            replies.pop_front();
        }
    }
    Ok(())
}
