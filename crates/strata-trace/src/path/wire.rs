//! What is asked and answered over a connection, seen from both of its ends.
//!
//! A turn is closed when every byte that was asked has been heard, and every byte that was answered has been taken. Where
//! the next question begins before that, the questions overlap: which answer belongs to which is not visible in bytes, so
//! they are counted and not told.

use std::collections::{HashMap, HashSet};

use super::calls::{Arrival, Calls, Transfer};

/// A question and its answer.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// Who asked.
    pub client: i32,
    /// Who heard it, and who answered; `None`: the other end is not on this machine.
    pub server: Option<(i32, i32)>,
    /// The client began to send.
    pub asked_ns: u64,
    /// The last of it arrived at the server's socket.
    pub arrived_ns: u64,
    /// The server took it.
    pub heard_ns: u64,
    /// The server began to send the last of the answer.
    pub answered_ns: u64,
    /// The last of that arrived at the client's socket.
    pub returned_ns: u64,
    /// The client had it.
    pub taken_ns: u64,
    /// The server's socket.
    pub socket: u64,
    /// Bytes there and back.
    pub bytes: (u64, u64),
    /// Requests that the server made for it.
    pub requests: Vec<usize>,
    /// Questions that the server asked others for it.
    pub exchanges: Vec<usize>,
    /// What lies in it may belong to another.
    pub ambiguous: bool,
    /// It belongs to another itself.
    pub nested: bool,
}

/// Why exchanges were not told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untold {
    /// The next question began before the answer was there.
    pub overlapping: u64,
    /// No arrival was seen, or their times contradict each other.
    pub inconsistent: u64,
}

#[derive(Default)]
struct End {
    here: Option<(u64, u64)>,
    port: i32,
    transfers: Vec<usize>,
    arrivals: Vec<u64>,
}

/// Every exchange of the window. `ours`: threads that are clients for certain.
#[must_use]
pub fn exchanges(calls: &Calls, ours: &HashSet<i32>) -> (Vec<Exchange>, HashMap<i32, Untold>) {
    let ends = ends(calls);
    let by_name: HashMap<(u64, u64), usize> =
        ends.iter().enumerate().filter_map(|(i, end)| Some((end.here?, i))).collect();
    let (mut found, mut untold) = (Vec::new(), HashMap::new());
    for (index, end) in ends.iter().enumerate() {
        let Some((here, there)) = end.here else { continue };
        let other = by_name.get(&(there, here)).map(|i| (*i, &ends[*i]));
        if by_name.get(&(here, there)) != Some(&index) || other.is_some_and(|(i, _)| i == index) {
            continue;
        }
        let is_ours = |end: &End| end.transfers.iter().any(|t| ours.contains(&calls.transfers[*t].tid));
        if let Some((_, other)) = other {
            let (mine, theirs) = (is_ours(end), is_ours(other));
            // Servers wait at the lower port; where one end alone is of the command, that one asks.
            if if mine == theirs { end.port < other.port } else { theirs } {
                continue;
            }
        }
        let mut turns = Turns {
            calls,
            ask: end,
            answer: other.map(|(_, e)| e),
            found: &mut found,
            untold: Untold::default(),
        };
        let client = turns.walk();
        if turns.untold.overlapping + turns.untold.inconsistent > 0 {
            let told: &mut Untold = untold.entry(client).or_default();
            told.overlapping += turns.untold.overlapping;
            told.inconsistent += turns.untold.inconsistent;
        }
    }
    (found, untold)
}

/// Sockets by the kernel's address, as long as each is there.
#[derive(Default)]
struct Sockets {
    ends: Vec<End>,
    open: HashMap<u64, usize>,
}

impl Sockets {
    fn end(&mut self, socket: u64) -> &mut End {
        let ends = &mut self.ends;
        let index = *self.open.entry(socket).or_insert_with(|| {
            ends.push(End::default());
            ends.len() - 1
        });
        &mut self.ends[index]
    }

    fn arrived(&mut self, arrival: &Arrival) {
        let name = (arrival.here, arrival.there);
        if self.end(arrival.socket).here.is_some_and(|here| here != name) {
            // Its end was not told.
            self.open.remove(&arrival.socket);
        }
        let end = self.end(arrival.socket);
        end.here = Some(name);
        end.port = arrival.port;
        end.arrivals.push(arrival.at_ns);
    }
}

fn ends(calls: &Calls) -> Vec<End> {
    let mut sockets = Sockets::default();
    let (mut transfers, mut arrivals, mut gone) = (0, 0, 0);
    loop {
        let transfer = calls.transfers.get(transfers).map_or(u64::MAX, |t| t.at_ns);
        let arrival = calls.arrivals.get(arrivals).map_or(u64::MAX, |a| a.at_ns);
        let end = calls.gone.get(gone).map_or(u64::MAX, |g| g.0);
        let next = transfer.min(arrival).min(end);
        if arrivals < calls.arrivals.len() && arrival == next {
            sockets.arrived(&calls.arrivals[arrivals]);
            arrivals += 1;
        } else if transfers < calls.transfers.len() && transfer == next {
            sockets.end(calls.transfers[transfers].socket).transfers.push(transfers);
            transfers += 1;
        } else if gone < calls.gone.len() {
            sockets.open.remove(&calls.gone[gone].1);
            gone += 1;
        } else {
            return sockets.ends;
        }
    }
}

#[derive(Default)]
struct Turn {
    exchange: Exchange,
    heard: u64,
    taken: u64,
    hearings: Vec<u64>,
    questions: u64,
    overlapping: bool,
}

struct Turns<'a> {
    calls: &'a Calls,
    ask: &'a End,
    answer: Option<&'a End>,
    found: &'a mut Vec<Exchange>,
    untold: Untold,
}

impl Turns<'_> {
    /// Through both ends in time; the client's thread.
    fn walk(&mut self) -> i32 {
        let of = |end: Option<&End>, asks: bool| {
            let numbers = end.map_or(&[][..], |e| e.transfers.as_slice());
            numbers.iter().map(|n| (self.calls.transfers[*n], asks)).collect::<Vec<_>>()
        };
        let mut moves = of(Some(self.ask), true);
        moves.extend(of(self.answer, false));
        // A transfer out counts from where it begins: its bytes may be there before it is over.
        moves.sort_by_key(|(t, _)| if t.out { t.begin_ns } else { t.at_ns });
        let client = moves.iter().find(|(_, asks)| *asks).map_or(0, |(t, _)| t.tid);
        let mut turn: Option<Turn> = None;
        for (transfer, asks) in &moves {
            turn = self.step(turn, transfer, *asks);
        }
        if let Some(turn) = turn.filter(|t| self.complete(t)) {
            self.close(turn);
        }
        client
    }

    fn complete(&self, turn: &Turn) -> bool {
        let heard = self.answer.is_none() || turn.heard == turn.exchange.bytes.0;
        let taken = self.answer.is_none() || turn.taken == turn.exchange.bytes.1;
        turn.taken > 0 && heard && taken
    }

    fn step(&mut self, turn: Option<Turn>, transfer: &Transfer, asks: bool) -> Option<Turn> {
        let mut turn = match turn {
            Some(turn) if asks && transfer.out && self.complete(&turn) => {
                self.close(turn);
                Turn::default()
            }
            Some(turn) => turn,
            None if asks && transfer.out => Turn::default(),
            // What began before the window.
            None => return None,
        };
        let exchange = &mut turn.exchange;
        match (asks, transfer.out) {
            (true, true) => {
                if turn.questions == 0 {
                    exchange.asked_ns = transfer.begin_ns;
                    exchange.client = transfer.tid;
                }
                // More of the same question, or another one before the answer is there.
                turn.overlapping |= exchange.bytes.1 > 0 || turn.taken > 0;
                turn.questions += u64::from(turn.questions == 0 || turn.overlapping);
                exchange.bytes.0 += transfer.bytes;
            }
            (false, false) => {
                turn.overlapping |= exchange.bytes.1 > 0;
                turn.heard += transfer.bytes;
                turn.hearings.push(transfer.at_ns);
                exchange.socket = transfer.socket;
                exchange.server = Some((transfer.tid, transfer.tid));
            }
            (false, true) => {
                exchange.bytes.1 += transfer.bytes;
                exchange.answered_ns = transfer.begin_ns;
                exchange.server = exchange.server.map(|(heard, _)| (heard, transfer.tid));
            }
            (true, false) => {
                turn.taken += transfer.bytes;
                exchange.taken_ns = transfer.end_ns;
            }
        }
        if self.answer.is_some() && (turn.heard > exchange.bytes.0 || turn.taken > exchange.bytes.1) {
            // Bytes of before the window are among them.
            self.untold.overlapping += turn.questions;
            return None;
        }
        Some(turn)
    }

    fn close(&mut self, turn: Turn) {
        if turn.overlapping {
            self.untold.overlapping += turn.questions;
            return;
        }
        let mut exchange = turn.exchange;
        let Some(returned) = last_until(&self.ask.arrivals, exchange.taken_ns) else {
            self.untold.inconsistent += 1;
            return;
        };
        exchange.returned_ns = returned;
        if let Some(answer) = self.answer {
            let heard = turn.hearings.last().copied().unwrap_or(0);
            let arrived = last_until(&answer.arrivals, heard).unwrap_or(0);
            exchange.arrived_ns = arrived;
            exchange.heard_ns = turn.hearings.iter().copied().find(|at| *at >= arrived).unwrap_or(0);
        } else {
            exchange.bytes.1 = turn.taken;
            (exchange.arrived_ns, exchange.heard_ns, exchange.answered_ns) =
                (exchange.asked_ns, exchange.asked_ns, exchange.asked_ns);
        }
        let e = &exchange;
        let order = [e.asked_ns, e.arrived_ns, e.heard_ns, e.answered_ns, e.returned_ns, e.taken_ns];
        if order.is_sorted() && e.asked_ns > 0 && (self.answer.is_none() || e.server.is_some()) {
            self.found.push(exchange);
        } else {
            self.untold.inconsistent += 1;
        }
    }
}

fn last_until(times: &[u64], at: u64) -> Option<u64> {
    times[..times.partition_point(|t| *t <= at)].last().copied()
}
