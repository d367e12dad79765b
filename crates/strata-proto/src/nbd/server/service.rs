//! The modelled medium: a pool of threads, each of which serves one request at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::admission::{Budget, Ticket};
use super::backing::{Backing, errno_of};
use super::buffers::{Buffer, Pool};
use super::clock::{Clock, precise_timers};
use super::conn::{Conn, Reply};
use super::delay_queue::DelayQueue;
use super::shaping::Shaping;
use super::stats::Stats;
use crate::nbd::codec::{Command, Export, Request, consts, error_chunk, read_chunk_header, simple_reply};

/// A request that is in, with the payload of a write.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) conn: Arc<Conn>,
    pub(super) request: Request,
    pub(super) payload: Option<Buffer>,
    pub(super) ticket: Ticket,
    /// When it was in whole, and through the shaped wire.
    pub(super) arrived_ns: u64,
}

impl PendingRequest {
    /// What the counters want to know of it once it is served.
    pub(super) fn counted(&self) -> (Command, u32, u64) {
        (self.request.command, self.request.length, self.arrived_ns)
    }
}

/// What all threads of a server share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) shaping: Shaping,
    pub(super) backing: Backing,
    pub(super) export: Export,
    pub(super) service_threads: usize,
    pub(super) service_time_ns: u64,
    pub(super) pool: Arc<Pool>,
    pub(super) budget: Arc<Budget>,
    pub(super) jobs: DelayQueue<PendingRequest>,
    pub(super) connections: AtomicUsize,
    pub(super) stop: AtomicBool,
    pub(super) stats: Option<Stats>,
    /// Of the start of the export, that no request changes.
    pub(super) guarded_bytes: u64,
}

impl Shared {
    /// A service thread: takes jobs as they become due until the server stops.
    ///
    /// The thread has a time line of its own. A job that waited starts where the last one ended, or
    /// where it became due, not where this thread happened to wake; so the modelled medium keeps
    /// its rate on a busy machine. The real I/O's duration counts beside the modelled one.
    pub(super) fn serve(&self) {
        precise_timers();
        let mut free_ns = 0;
        while let Some((due_ns, job)) = self.jobs.pop() {
            if job.conn.is_over() {
                continue;
            }
            let conn = Arc::clone(&job.conn);
            let (command, length, arrived_ns) = job.counted();
            let begun_ns = self.clock.now_ns();
            let reply = self.execute(job);
            let done_ns = self.clock.now_ns();
            let ready_ns = if self.service_time_ns > 0 {
                free_ns = due_ns.max(free_ns) + (done_ns - begun_ns) + self.service_time_ns;
                self.hold_until(free_ns);
                free_ns
            } else {
                done_ns
            };
            self.count(command, length, arrived_ns, ready_ns);
            let due_ns = self.shaping.leave(ready_ns, reply.len() as u64);
            conn.send(due_ns, reply);
        }
    }

    /// Put a served request into the counters, where there are any.
    pub(super) fn count(&self, command: Command, length: u32, arrived_ns: u64, ready_ns: u64) {
        if let Some(stats) = &self.stats {
            stats.count(command, length, ready_ns.saturating_sub(arrived_ns));
        }
    }

    /// Wait for an instant, or less if the server stops meanwhile.
    pub(super) fn hold_until(&self, due_ns: u64) {
        const LOOK_NS: u64 = 50_000_000;
        while !self.stop.load(Ordering::Relaxed) {
            let now_ns = self.clock.now_ns();
            if due_ns <= now_ns + LOOK_NS {
                return self.clock.sleep_until(due_ns);
            }
            self.clock.sleep_until(now_ns + LOOK_NS);
        }
    }

    /// Do the I/O and make its reply.
    pub(super) fn execute(&self, job: PendingRequest) -> Reply {
        let PendingRequest { conn, request, payload, ticket, .. } = job;
        if let Some(error) = request.refusal(self.export.size_bytes, conn.tx_flags) {
            return refused(&conn, &request, error, ticket);
        }
        let Request { offset, length, cookie, .. } = request;
        let changes = !matches!(request.command, Command::Read | Command::Flush);
        if changes && offset < self.guarded_bytes {
            return refused(&conn, &request, consts::EPERM, ticket);
        }
        let fua = request.flags & consts::CMD_FLAG_FUA != 0;
        let keep_going = || !conn.is_over() && !self.stop.load(Ordering::Relaxed);
        let done = match request.command {
            Command::Read => {
                let mut into = self.pool.take(length);
                match self.backing.read(&mut into, offset) {
                    Ok(()) if conn.structured => {
                        let head = read_chunk_header(cookie, offset, length);
                        return Reply::new(&head, Some(into), ticket);
                    }
                    Ok(()) => return Reply::new(&simple_reply(cookie, 0), Some(into), ticket),
                    Err(error) => Err(error),
                }
            }
            Command::Write => self.backing.write(payload.as_deref().unwrap_or_default(), offset, fua),
            Command::WriteZeroes => self.backing.write_zeroes(offset, length.into(), fua, &keep_going),
            Command::Trim => {
                let trimmed = self.backing.trim(offset, length.into());
                if fua { trimmed.and_then(|()| self.backing.flush()) } else { trimmed }
            }
            Command::Flush => self.backing.flush(),
            // Neither gets here: `refusal` answers the unknown, the reader takes the disconnect.
            Command::Disconnect | Command::Unknown(_) => Ok(()),
        };
        match done {
            Ok(()) => Reply::new(&simple_reply(cookie, 0), None, ticket),
            Err(error) => refused(&conn, &request, errno_of(&error), ticket),
        }
    }
}

/// A failed read needs a chunk where structured replies were agreed; the rest may stay simple.
fn refused(conn: &Conn, request: &Request, error: u32, ticket: Ticket) -> Reply {
    if conn.structured && request.command == Command::Read {
        Reply::new(&error_chunk(request.cookie, error), None, ticket)
    } else {
        Reply::new(&simple_reply(request.cookie, error), None, ticket)
    }
}
