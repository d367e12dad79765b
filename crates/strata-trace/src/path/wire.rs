//! What is asked and answered over a connection, seen from both of its ends.
//!
//! Where the headers of the protocol were read ([`crate::message`]), they say which reply belongs to which question, and
//! [`super::stream`] when their bytes were where, at any depth.
//!
//! Else bytes alone are counted: a turn is closed when every byte that was asked has been heard, and every byte that was
//! answered has been taken. Where the next question begins before that, the questions overlap: which answer belongs to
//! which is not visible in bytes, so they are counted and not told. What was sent in several calls and answered in several
//! may be several questions as well as one in pieces: it is not told either.

use std::collections::{HashMap, HashSet};

use crate::message::{Messages, Tagged};

use super::calls::{Arrival, Calls, Deed, Opened, Transfer};
use super::clocks::Bound;
use super::stream::{Again, Stream};

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
    /// What lies in it may belong to another: the server is told as one.
    pub ambiguous: bool,
    /// It belongs to another itself.
    pub nested: bool,
    /// What the question's header says.
    pub deed: Option<Deed>,
}

impl Exchange {
    /// The other end is elsewhere: nothing is known between question and reply.
    fn far(&mut self) {
        (self.arrived_ns, self.heard_ns, self.answered_ns) = (self.asked_ns, self.asked_ns, self.asked_ns);
    }

    fn in_order(&self) -> bool {
        let times = [
            self.asked_ns,
            self.arrived_ns,
            self.heard_ns,
            self.answered_ns,
            self.returned_ns,
            self.taken_ns,
        ];
        times.is_sorted() && self.asked_ns > 0
    }
}

/// Why exchanges were not told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Omitted {
    /// The next question began before the answer was there.
    pub overlapping: u64,
    /// No arrival was seen, or their times contradict each other.
    pub inconsistent: u64,
    /// Headers were read, and their other half was not found.
    pub unmatched: u64,
    /// Headers were read, and their replies had not come when the window ended.
    pub waiting: u64,
}

/// One end of a connection.
#[derive(Default)]
pub(super) struct End {
    here: Option<(u64, u64)>,
    port: i32,
    /// Its beginning was seen; whether this end asked for it.
    opened: Option<bool>,
    pub(super) transfers: Vec<usize>,
    /// (when, how many bytes).
    pub(super) arrivals: Vec<(u64, u64)>,
}

/// Every exchange of the window. `ours`: threads that are clients for certain.
#[must_use]
pub fn exchanges(
    calls: &Calls,
    messages: &Messages,
    ours: &HashSet<i32>,
) -> (Vec<Exchange>, HashMap<i32, Omitted>) {
    let ends = ends(calls);
    let by_name: HashMap<(u64, u64), usize> =
        ends.iter().enumerate().filter_map(|(i, end)| Some((end.here?, i))).collect();
    let (mut found, mut omitted) = (Vec::new(), HashMap::new());
    let mut add = |client: i32, more: Omitted| {
        let told: &mut Omitted = omitted.entry(client).or_default();
        told.overlapping += more.overlapping;
        told.inconsistent += more.inconsistent;
        told.unmatched += more.unmatched;
        told.waiting += more.waiting;
    };
    let mut read = HashSet::new();
    for spoken in &messages.spoken {
        let end = |name: (u64, u64)| by_name.get(&name).map(|i| &ends[*i]);
        let name = (spoken.client, spoken.server);
        let Some(ask) = end(name) else { continue };
        let answer = end((name.1, name.0));
        let several = ends.iter().filter(|e| e.here == Some(name)).count() > 1;
        if ask.opened.is_none() || several || answer.is_some_and(|a| a.opened.is_none()) {
            continue;
        }
        read.extend([name, (name.1, name.0)]);
        let own = messages.pairs.iter().filter(|p| (p.client, p.server) == name);
        let client = ask.transfers.first().map_or(0, |t| calls.transfers[*t].tid);
        let again = |name| again(&[messages], name);
        let (told, mut more) = tagged(calls, (ask, answer), own, (&again(name), &again((name.1, name.0))));
        found.extend(told);
        more.unmatched += spoken.unmatched;
        more.waiting += spoken.waiting;
        add(client, more);
    }
    for (index, end) in ends.iter().enumerate() {
        let Some((here, there)) = end.here else { continue };
        let other = by_name.get(&(there, here)).map(|i| (*i, &ends[*i]));
        if by_name.get(&(here, there)) != Some(&index) || other.is_some_and(|(i, _)| i == index) {
            continue;
        }
        if read.contains(&(here, there)) || !asks(end, other.map(|(_, e)| e), calls, ours) {
            continue;
        }
        let mut turns = Turns {
            calls,
            ask: end,
            answer: other.map(|(_, e)| e),
            found: &mut found,
            omitted: Omitted::default(),
            mixed: false,
        };
        let client = turns.walk();
        let more = turns.omitted;
        if more.overlapping + more.inconsistent > 0 {
            add(client, more);
        }
    }
    (found, omitted)
}

/// Whether an end is the one that asks.
fn asks(end: &End, other: Option<&End>, calls: &Calls, ours: &HashSet<i32>) -> bool {
    if let Some(asks) = end.opened {
        return asks;
    }
    let is_ours = |end: &End| end.transfers.iter().any(|t| ours.contains(&calls.transfers[*t].tid));
    other.is_none_or(|other| {
        if let Some(asks) = other.opened {
            return !asks;
        }
        let (mine, theirs) = (is_ours(end), is_ours(other));
        // Servers wait at the lower port; where one end alone is of the command, that one asks.
        if mine == theirs { end.port >= other.port } else { mine }
    })
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

    fn opened(&mut self, opened: &Opened) {
        self.open.remove(&opened.socket);
        let end = self.end(opened.socket);
        end.here = Some((opened.here, opened.there));
        end.port = opened.port;
        end.opened = Some(opened.asks);
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
        end.arrivals.push((arrival.at_ns, arrival.bytes));
    }
}

pub(super) fn ends(calls: &Calls) -> Vec<End> {
    // At one time a connection begins before anything else of it, and ends after it.
    let opened = calls.opened.iter().enumerate().map(|(i, o)| (o.at_ns, 0, i));
    let arrivals = calls.arrivals.iter().enumerate().map(|(i, a)| (a.at_ns, 1, i));
    let transfers = calls.transfers.iter().enumerate().map(|(i, t)| (t.at_ns, 2, i));
    let gone = calls.gone.iter().enumerate().map(|(i, g)| (g.0, 3, i));
    let mut all: Vec<(u64, u8, usize)> = opened.chain(arrivals).chain(transfers).chain(gone).collect();
    all.sort_unstable();
    let mut sockets = Sockets::default();
    for (_, kind, index) in all {
        match kind {
            0 => sockets.opened(&calls.opened[index]),
            1 => sockets.arrived(&calls.arrivals[index]),
            2 => sockets.end(calls.transfers[index].socket).transfers.push(index),
            _ => {
                sockets.open.remove(&calls.gone[index].1);
            }
        }
    }
    sockets.ends
}

/// What came again from the first end to the second, as any of the readers saw it.
fn again(read: &[&Messages], (from, to): (u64, u64)) -> Vec<(u64, i64)> {
    let own = read.iter().flat_map(|m| &m.again).filter(|a| (a.from, a.to) == (from, to));
    let mut found: Vec<(u64, i64)> = own.map(|a| (a.at, a.bytes)).collect();
    found.sort_unstable();
    found
}

/// What the messages between two machines say of the second one's clock, by both connections' ends whose beginning was
/// seen.
#[must_use]
pub fn bounds(here: &Calls, there: &Calls, messages: &[&Messages]) -> Vec<Bound> {
    let (own, others) = (ends(here), ends(there));
    let once = |all: &[End], name| all.iter().filter(|e| e.here == name).count() == 1;
    let mut found = Vec::new();
    for end in own.iter().filter(|e| e.opened.is_some() && once(&own, e.here)) {
        let Some(own_name) = end.here else { continue };
        let name = Some((own_name.1, own_name.0));
        let Some(other) = others.iter().find(|e| e.here == name && e.opened.is_some()) else { continue };
        if !once(&others, name) {
            continue;
        }
        let (own, other) = (Some((here, end)), Some((there, other)));
        let twice = again(messages, own_name);
        for (which, at_ns) in Stream::new(own, other, &twice).crossings() {
            let ahead_ns = i128::from(at_ns) - i128::from(here.transfers[which].begin_ns);
            found.push(Bound { at_ns, ahead_ns, most: true });
        }
        let twice = again(messages, (own_name.1, own_name.0));
        for (which, arrived) in Stream::new(other, own, &twice).crossings() {
            let at_ns = there.transfers[which].begin_ns;
            found.push(Bound { at_ns, ahead_ns: i128::from(at_ns) - i128::from(arrived), most: false });
        }
    }
    found
}

/// The exchanges of a connection whose headers were read, and how many have no certain times, or no end.
fn tagged<'a>(
    calls: &Calls,
    (ask, answer): (&End, Option<&End>),
    pairs: impl Iterator<Item = &'a Tagged>,
    again: (&Again, &Again),
) -> (Vec<Exchange>, Omitted) {
    let (ask, other) = (Some((calls, ask)), answer.map(|end| (calls, end)));
    let (there, back) = (Stream::new(ask, other, again.0), Stream::new(other, ask, again.1));
    let (mut found, mut omitted) = (Vec::new(), Omitted::default());
    for pair in pairs {
        match exchange_of(calls, pair, &there, &back, answer.is_some()) {
            Some(exchange) if exchange.in_order() => found.push(exchange),
            // The client left without the reply, or had not got to it.
            _ if back.all_taken() < pair.answered.1 => omitted.waiting += 1,
            _ => omitted.inconsistent += 1,
        }
    }
    (found, omitted)
}

fn exchange_of(calls: &Calls, pair: &Tagged, there: &Stream, back: &Stream, both: bool) -> Option<Exchange> {
    let transfer = |index: usize| &calls.transfers[index];
    let asked = transfer(there.sent(pair.asked.0)?);
    let taken = transfer(back.taken(pair.answered.1)?);
    let mut exchange = Exchange {
        client: asked.tid,
        asked_ns: asked.begin_ns,
        returned_ns: back.arrived(pair.answered.1)?,
        taken_ns: taken.end_ns,
        bytes: (pair.asked.1 - pair.asked.0, pair.answered.1 - pair.answered.0),
        deed: deed_of(pair.deed),
        ..Exchange::default()
    };
    if both {
        let heard = transfer(there.taken(pair.asked.1)?);
        let answered = transfer(back.sent(pair.answered.1 - 1)?);
        exchange.server = Some((heard.tid, answered.tid));
        exchange.socket = heard.socket;
        exchange.arrived_ns = there.arrived(pair.asked.1)?;
        exchange.heard_ns = heard.at_ns;
        exchange.answered_ns = answered.begin_ns;
    } else {
        exchange.far();
    }
    Some(exchange)
}

fn deed_of(number: u8) -> Option<Deed> {
    match number {
        1 => Some(Deed::Read),
        2 => Some(Deed::Write),
        3 => Some(Deed::Sync),
        _ => None,
    }
}

#[derive(Default)]
struct Turn {
    exchange: Exchange,
    heard: u64,
    taken: u64,
    hearings: Vec<u64>,
    /// Calls that sent the question, and that sent the reply.
    asks: u64,
    answers: u64,
    overlapping: bool,
}

struct Turns<'a> {
    calls: &'a Calls,
    ask: &'a End,
    answer: Option<&'a End>,
    found: &'a mut Vec<Exchange>,
    omitted: Omitted,
    /// The other end is elsewhere, and questions overlapped: which reply comes next is not known any more.
    mixed: bool,
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
                if turn.asks == 0 {
                    exchange.asked_ns = transfer.begin_ns;
                    exchange.client = transfer.tid;
                }
                // More of the same question, or another one before the answer is there.
                turn.overlapping |= exchange.bytes.1 > 0 || turn.taken > 0;
                turn.asks += 1;
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
                turn.answers += 1;
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
            self.omitted.overlapping += turn.asks;
            return None;
        }
        Some(turn)
    }

    /// Whether it may be several questions and their replies: both sides moved their bytes in several calls.
    fn several(&self, turn: &Turn) -> bool {
        if self.answer.is_some() {
            turn.answers > 1 && (turn.asks > 1 || turn.hearings.len() > 1)
        } else {
            turn.asks > 1
        }
    }

    fn close(&mut self, turn: Turn) {
        let overlapping = turn.overlapping || self.several(&turn);
        self.mixed |= overlapping && self.answer.is_none();
        if overlapping || self.mixed {
            self.omitted.overlapping += turn.asks;
            return;
        }
        let mut exchange = turn.exchange;
        let Some(returned) = last_until(&self.ask.arrivals, exchange.taken_ns) else {
            self.omitted.inconsistent += 1;
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
            exchange.far();
        }
        if exchange.in_order() && (self.answer.is_none() || exchange.server.is_some()) {
            self.found.push(exchange);
        } else {
            self.omitted.inconsistent += 1;
        }
    }
}

fn last_until(arrivals: &[(u64, u64)], at: u64) -> Option<u64> {
    arrivals[..arrivals.partition_point(|(t, _)| *t <= at)].last().map(|(t, _)| *t)
}
