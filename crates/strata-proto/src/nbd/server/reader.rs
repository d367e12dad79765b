//! One connection, from its accept to its end.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::buffers::{Buffer, footprint};
use super::clock::precise_timers;
use super::conn::{Conn, Reply};
use super::handshake::{Agreed, shake};
use super::pace::{PATIENCE, Pace};
use super::service::{PendingRequest, Shared};
use crate::nbd::codec::{Command, MAX_PAYLOAD, REQUEST_LEN, Request};
use crate::sock::Socket;

/// Bytes read ahead with one system call; several small requests come together.
const AHEAD: usize = 64 * 1024;
/// Replies of instant requests that are collected before they are sent.
const COLLECT: usize = 32;
/// Longest payload, in bytes, that the reading thread copies itself: beyond it, receiving the next
/// request while another thread copies gains more than the hand-over costs.
const INSTANT: u32 = 128 * 1024;
/// Longest wait for requests in flight after the client said disconnect.
const GOODBYE: Duration = Duration::from_secs(5);

/// Serve one client until it leaves, breaks the protocol or the server stops.
pub(super) fn serve_client(shared: &Arc<Shared>, socket: &Arc<Socket>) {
    precise_timers();
    // A client's errors end its own connection and concern nobody else.
    if socket.set_write_timeout(Some(PATIENCE)).is_ok()
        && let Ok(Some(agreed)) = shake(shared, socket)
    {
        let Agreed { structured, tx_flags, rest } = agreed;
        let conn =
            Arc::new(Conn::new(Arc::clone(socket), structured, tx_flags, shared.clock, &shared.budget));
        let writer = {
            let conn = Arc::clone(&conn);
            std::thread::Builder::new().name("nbd-out".into()).spawn(move || conn.write_late())
        };
        if let Ok(writer) = writer {
            let mut reader = Reader { shared, conn: &conn, ahead: rest, at: 0, collected: VecDeque::new() };
            if reader.run().is_ok() {
                conn.flight.drain(GOODBYE, || shared.stop.load(Ordering::Relaxed));
            }
            conn.end();
            let _panicked = writer.join();
        }
    }
    socket.shutdown();
}

struct Reader<'a> {
    shared: &'a Arc<Shared>,
    conn: &'a Arc<Conn>,
    /// Bytes read but not used yet begin at `at`.
    ahead: Vec<u8>,
    at: usize,
    collected: VecDeque<Reply>,
}

impl Reader<'_> {
    /// Take requests until the disconnect (`Ok`) or until the connection fails.
    fn run(&mut self) -> io::Result<()> {
        loop {
            let Some(header) = self.header()? else { return Ok(()) };
            let begun_ns = self.shared.clock.now_ns();
            let request = Request::parse(&header)?;
            if request.command == Command::Disconnect {
                self.flush();
                return Ok(());
            }
            // A read too long to serve is refused later and holds nothing.
            let holds = match request.command {
                Command::Read if request.length <= MAX_PAYLOAD => request.length,
                _ => request.payload_len(),
            };
            let memory = footprint(holds);
            let ticket = match self.conn.flight.try_enter(memory) {
                Some(ticket) => ticket,
                None => {
                    self.flush(); // what is collected holds tickets too
                    self.conn.flight.enter(memory).ok_or(io::ErrorKind::NotConnected)?
                }
            };
            let payload = self.payload(&request)?;
            let wire_bytes = (REQUEST_LEN as u64) + u64::from(request.payload_len());
            let now_ns = self.shared.clock.now_ns();
            let due_ns = self.shared.shaping.admit(begun_ns, wire_bytes).max(begun_ns);
            let arrived_ns = due_ns.max(now_ns);
            let job = PendingRequest { conn: Arc::clone(self.conn), request, payload, ticket, arrived_ns };
            if due_ns <= now_ns && holds <= INSTANT && self.serves_itself() {
                self.instant(job);
            } else {
                self.flush();
                self.shared.jobs.push(due_ns, job);
            }
        }
    }

    /// An instant backing without a modelled medium needs no other thread, as long as the
    /// connections alone cannot serve more at once than was asked for.
    fn serves_itself(&self) -> bool {
        self.shared.service_time_ns == 0
            && self.shared.backing.is_instant()
            && self.shared.connections.load(Ordering::Relaxed) <= self.shared.service_threads
    }

    fn instant(&mut self, job: PendingRequest) {
        let (command, length, arrived_ns) = job.counted();
        let reply = self.shared.execute(job);
        let now_ns = self.shared.clock.now_ns();
        self.shared.count(command, length, arrived_ns, now_ns);
        let due_ns = self.shared.shaping.leave(now_ns, reply.len() as u64);
        if due_ns > now_ns {
            self.conn.send(due_ns, reply);
            return;
        }
        let big = reply.len() >= AHEAD;
        self.collected.push_back(reply);
        if big || self.collected.len() >= COLLECT {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.collected.is_empty() {
            self.conn.send_due(&mut self.collected);
        }
    }

    /// The next header; `None` if the client left between two requests.
    fn header(&mut self) -> io::Result<Option<[u8; REQUEST_LEN]>> {
        loop {
            if let Some(header) = self.ahead.get(self.at..).and_then(|rest| rest.first_chunk()) {
                self.at += REQUEST_LEN;
                return Ok(Some(*header));
            }
            self.flush();
            self.ahead.drain(..self.at);
            self.at = 0;
            let had = self.ahead.len();
            self.ahead.resize(AHEAD, 0);
            let got = loop {
                match (&mut &*self.conn.socket).read(&mut self.ahead[had..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // A client without a request may be silent for as long as it likes.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock && had == 0 => {}
                    other => break other,
                }
            };
            self.ahead.truncate(had + *got.as_ref().unwrap_or(&0));
            match got? {
                0 if had == 0 => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => {}
            }
        }
    }

    /// The payload that follows a write's header, received straight into its buffer.
    fn payload(&mut self, request: &Request) -> io::Result<Option<Buffer>> {
        let len = request.payload_len();
        if len == 0 {
            return Ok(None);
        }
        let mut buffer = self.shared.pool.take(len);
        let ready = (self.ahead.len() - self.at).min(buffer.len());
        let (head, tail) = buffer.split_at_mut(ready);
        head.copy_from_slice(&self.ahead[self.at..self.at + ready]);
        self.at += ready;
        if !tail.is_empty() {
            self.flush();
            let mut pace = Pace::begin();
            let mut rest = tail;
            while !rest.is_empty() {
                match (&mut &*self.conn.socket).read(rest) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(got) => {
                        pace.moved(got)?;
                        rest = &mut rest[got..];
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(Some(buffer))
    }
}
