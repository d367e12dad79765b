//! Requests as the application makes them: system calls, requests of io_uring and of AIO; and what went over sockets.

use std::collections::HashMap;

use serde::Serialize;

use crate::mark::{Call, Mark, What};

/// How a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SubmittedBy {
    /// A system call that returns when it is done.
    Call,
    /// A request of io_uring.
    IoUring,
    /// One I/O of an `io_submit`.
    Aio,
    /// A question over a connection, and its answer.
    Exchange,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Data to the application.
    Read,
    /// Data from it.
    Write,
    /// That what was written is kept.
    Sync,
    /// Not known: nothing below it was seen.
    Other,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// How.
    pub way: SubmittedBy,
    /// What.
    pub deed: Deed,
    /// Who.
    pub tid: i32,
    /// When it was made.
    pub begin_ns: u64,
    /// When it was done; 0: it was under way when the window ended.
    pub end_ns: u64,
    /// When its thread returned with it, where it waited in the kernel.
    pub seen_ns: Option<u64>,
    /// It names its place, so it is no socket's or pipe's.
    pub placed: bool,
    /// A worker of the kernel carries it out, and what the worker does has no name.
    pub handed: bool,
    /// The requests at devices that its thread brought, see [`super::blocks`].
    pub blocks: Vec<(usize, u64)>,
}

impl Request {
    /// When it is over for who made it.
    #[must_use]
    pub fn over_ns(&self) -> u64 {
        self.seen_ns.unwrap_or(self.end_ns)
    }
}

/// Bytes into a socket or out of it.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// The socket.
    pub socket: u64,
    /// Into it.
    pub out: bool,
    /// By whom.
    pub tid: i32,
    /// When the call began.
    pub begin_ns: u64,
    /// When the bytes were moved.
    pub at_ns: u64,
    /// When the call returned.
    pub end_ns: u64,
    /// How many.
    pub bytes: u64,
}

/// A segment that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub at_ns: u64,
    /// The socket, its port, and the names of both ends.
    pub socket: u64,
    /// Its port.
    pub port: i32,
    /// Its own end.
    pub here: u64,
    /// The other one.
    pub there: u64,
    /// Bytes of data in it.
    pub bytes: u64,
}

/// A connection that began.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// When.
    pub at_ns: u64,
    /// The socket, its port, and the names of both ends.
    pub socket: u64,
    /// Its port.
    pub port: i32,
    /// Its own end.
    pub here: u64,
    /// The other one.
    pub there: u64,
    /// This end asked for the connection.
    pub asks: bool,
}

struct Open {
    call: Call,
    placed: bool,
    begin_ns: u64,
    last_ns: u64,
    request: Option<usize>,
    socket: bool,
    transfer: Option<usize>,
}

/// What a thread submits to io_uring just now.
#[derive(Clone, Copy)]
struct Taking {
    begin_ns: u64,
    request: Option<usize>,
}

/// Put together from marks in their order.
#[derive(Default)]
pub struct Calls {
    /// Every request whose beginning was seen.
    pub requests: Vec<Request>,
    /// Every transfer.
    pub transfers: Vec<Transfer>,
    /// Every arrival.
    pub arrivals: Vec<Arrival>,
    /// Every connection that began.
    pub opened: Vec<Opened>,
    /// Which sockets were no more when.
    pub gone: Vec<(u64, u64)>,
    /// Which thread made which: (maker, made).
    pub forks: Vec<(i32, i32)>,
    open: HashMap<i32, Open>,
    ring: HashMap<u64, usize>,
    taking: HashMap<i32, Taking>,
    finished: HashMap<i32, Vec<usize>>,
    reaps: HashMap<i32, Vec<(u64, u64)>>,
}

/// io_uring's operations on files, by the numbers of the system's interface.
fn deed_of(operation: i32) -> Option<Deed> {
    match operation {
        1 | 4 | 22 => Some(Deed::Read),
        2 | 5 | 23 => Some(Deed::Write),
        3 | 8 => Some(Deed::Sync),
        _ => None,
    }
}

impl Calls {
    /// The next mark, in time.
    pub fn feed(&mut self, mark: &Mark) {
        let (at_ns, tid) = (mark.at_ns, mark.pid);
        match mark.what {
            What::Enter(call, placed) => {
                let open = Open {
                    call,
                    placed,
                    begin_ns: at_ns,
                    last_ns: at_ns,
                    request: None,
                    socket: false,
                    transfer: None,
                };
                self.open.insert(tid, open);
            }
            What::Exit => self.exit(at_ns, tid),
            What::Taken => {
                let request = deed_of(mark.n).map(|deed| {
                    let index = self.begin(SubmittedBy::IoUring, deed, tid, at_ns, true);
                    self.ring.insert(mark.a, index);
                    index
                });
                self.taking.insert(tid, Taking { begin_ns: at_ns, request });
            }
            What::Handed => {
                if let Some(request) = self.ring.get(&mark.a).and_then(|i| self.requests.get_mut(*i)) {
                    request.handed = true;
                }
                self.taking.remove(&tid);
            }
            What::Done => self.done(at_ns, mark.a),
            What::Sent | What::Received => self.moved(mark),
            What::Arrived => self.arrivals.push(Arrival {
                at_ns,
                socket: mark.a,
                port: mark.n,
                here: mark.b,
                there: mark.c,
                bytes: u64::from(mark.m),
            }),
            What::Opened => self.opened.push(Opened {
                at_ns,
                socket: mark.a,
                port: mark.n,
                here: mark.b,
                there: mark.c,
                asks: mark.m == 1,
            }),
            What::Gone => self.gone.push((at_ns, mark.a)),
            What::Forked => self.forks.push((tid, mark.n)),
        }
    }

    /// The request to which an I/O belongs that this thread brings just now.
    pub fn asker(&mut self, tid: i32, at_ns: u64, deed: Deed) -> Option<usize> {
        if let Some(taking) = self.taking.get(&tid) {
            return taking.request;
        }
        let open = self.open.get(&tid)?;
        match open.call {
            Call::Read | Call::Write | Call::Sync => {
                if open.request.is_some() {
                    return open.request;
                }
                let (way, begin) = (SubmittedBy::Call, open.begin_ns);
                let (deed, placed) = (deed_of_call(open.call), open.placed);
                let index = self.begin(way, deed, tid, begin, placed);
                self.open.get_mut(&tid)?.request = Some(index);
                Some(index)
            }
            Call::Submit => {
                // One I/O after the other: each begins where the one before it was brought.
                let begin = open.last_ns;
                self.open.get_mut(&tid)?.last_ns = at_ns;
                Some(self.begin(SubmittedBy::Aio, deed, tid, begin, true))
            }
            Call::Receive | Call::Send | Call::Ring | Call::Reap => None,
        }
    }

    /// AIO tells no end: it is that of its I/O, and is fetched by the call that waited then.
    pub fn finish_aio(&mut self, end_of: impl Fn(usize) -> Option<u64>) {
        for request in self.requests.iter_mut().filter(|r| r.way == SubmittedBy::Aio) {
            let ends = request.blocks.iter().map(|(block, _)| end_of(*block));
            let Some(end) = ends.collect::<Option<Vec<_>>>().and_then(|e| e.into_iter().max()) else {
                continue;
            };
            request.end_ns = end;
            let waits = self.reaps.get(&request.tid).map_or(&[][..], Vec::as_slice);
            let after = waits.partition_point(|(_, exit)| *exit < end);
            request.seen_ns = waits.get(after).filter(|(enter, _)| *enter <= end).map(|(_, exit)| *exit);
        }
    }

    fn begin(&mut self, way: SubmittedBy, deed: Deed, tid: i32, begin_ns: u64, placed: bool) -> usize {
        self.requests.push(Request {
            way,
            deed,
            tid,
            begin_ns,
            end_ns: 0,
            seen_ns: None,
            placed,
            handed: false,
            blocks: Vec::new(),
        });
        self.requests.len() - 1
    }

    fn exit(&mut self, at_ns: u64, tid: i32) {
        self.taking.remove(&tid);
        let Some(open) = self.open.remove(&tid) else { return };
        if let Some(transfer) = open.transfer {
            self.transfers[transfer].end_ns = at_ns;
        }
        match open.call {
            Call::Ring => {
                for index in self.finished.remove(&tid).unwrap_or_default() {
                    self.requests[index].seen_ns = Some(at_ns);
                }
            }
            Call::Reap => self.reaps.entry(tid).or_default().push((open.begin_ns, at_ns)),
            Call::Read | Call::Write | Call::Sync => {
                let told = open.placed || open.call == Call::Sync;
                let index = match open.request {
                    None if told && !open.socket => {
                        let deed = deed_of_call(open.call);
                        self.begin(SubmittedBy::Call, deed, tid, open.begin_ns, open.placed)
                    }
                    None => return,
                    Some(index) => index,
                };
                self.requests[index].end_ns = at_ns;
            }
            Call::Receive | Call::Send | Call::Submit => {}
        }
    }

    fn done(&mut self, at_ns: u64, name: u64) {
        let Some(index) = self.ring.remove(&name) else { return };
        let tid = self.requests[index].tid;
        self.requests[index].end_ns = at_ns;
        if self.open.get(&tid).is_some_and(|open| open.call == Call::Ring) {
            self.finished.entry(tid).or_default().push(index);
        }
    }

    fn moved(&mut self, mark: &Mark) {
        let (at_ns, tid) = (mark.at_ns, mark.pid);
        let open = self.open.get_mut(&tid);
        let inside = open.as_ref().filter(|o| !matches!(o.call, Call::Ring | Call::Submit | Call::Reap));
        let begin_ns =
            self.taking.get(&tid).map(|t| t.begin_ns).or(inside.map(|o| o.begin_ns)).unwrap_or(at_ns);
        if let Some(open) = open {
            open.socket = true;
            open.transfer = Some(self.transfers.len());
        }
        self.transfers.push(Transfer {
            socket: mark.a,
            out: mark.what == What::Sent,
            tid,
            begin_ns,
            at_ns,
            end_ns: at_ns,
            bytes: u64::try_from(mark.n).unwrap_or(0),
        });
    }
}

fn deed_of_call(call: Call) -> Deed {
    match call {
        Call::Read => Deed::Read,
        Call::Write => Deed::Write,
        Call::Sync => Deed::Sync,
        _ => Deed::Other,
    }
}
