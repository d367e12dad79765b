//! Questions and replies as their protocol numbers them, read from the headers in a connection's bytes.
//!
//! What a header looks like is a table that comes with the job, see [`Row`]: a protocol is a list of rows. A connection is
//! read from its first byte on (its SYN), by the lengths in the headers: data between them is passed over, never read.
//! Where a header is missing or is none, reading goes on at the next segment that begins with a question or a reply, and
//! what lay between stays unmatched and is counted. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

mod header;

use header::Fit;
pub use header::{Number, Protocol, Role, Row};

/// Connections that are read at once, and questions of one that wait for their replies, at most.
const CONNECTIONS: usize = 4096;
const WAITING: usize = 1 << 16;
/// A connection, by the names of its ends: the client's and the server's.
type Name = (u64, u64);

/// A question and its reply. Places are bytes from the beginning of the connection, each direction for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tagged {
    /// Names of both ends ([`crate::mark::end_name`]).
    pub client: u64,
    /// See above.
    pub server: u64,
    /// Where the question is: its first byte, and the one behind it.
    pub asked: (u64, u64),
    /// Where the reply is.
    pub answered: (u64, u64),
    /// 1 read, 2 write, 3 sync, 0 another.
    pub deed: u8,
}

impl Tagged {
    fn name(&self) -> Name {
        (self.client, self.server)
    }
}

/// What is known of a connection beside its pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spoken {
    /// Names of both ends.
    pub client: u64,
    /// See above.
    pub server: u64,
    /// Questions and replies that found no other half, and places where headers were lost.
    pub unmatched: u64,
    /// Questions without a reply at the end.
    pub waiting: u64,
}

impl Spoken {
    fn name(&self) -> Name {
        (self.client, self.server)
    }
}

/// Bytes that came to an end and brought it no further: again (sent twice, or for nothing), or before others that were
/// sent before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Again {
    /// Names of both ends.
    pub from: u64,
    /// See above.
    pub to: u64,
    /// Behind how many bytes that had come, these and others that came again among them.
    pub at: u64,
    /// How many; below zero: with these, so many count that had come before their turn.
    pub bytes: i64,
}

/// All that was read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Messages {
    /// In the order of their replies.
    pub pairs: Vec<Tagged>,
    /// Connections whose protocol was recognised.
    pub spoken: Vec<Spoken>,
    /// What came again on them, in order.
    pub again: Vec<Again>,
}

impl Messages {
    /// Two readers may have seen the same connection (both ends of a wire): the one that saw more of it counts.
    pub fn merge(&mut self, other: Self) {
        // Each end's is seen where that is.
        self.again.extend(&other.again);
        self.again.sort_unstable();
        self.again.dedup();
        let (own, theirs) = (self.pairs_of_each(), other.pairs_of_each());
        let rank = |pairs: &HashMap<Name, usize>, s: &Spoken| {
            (pairs.get(&s.name()).copied().unwrap_or(0), std::cmp::Reverse(s.unmatched))
        };
        let mut known: HashMap<Name, Spoken> = self.spoken.iter().map(|s| (s.name(), *s)).collect();
        let mut taken = HashSet::new();
        for spoken in other.spoken {
            let name = spoken.name();
            if known.get(&name).is_none_or(|k| rank(&own, k) < rank(&theirs, &spoken)) {
                known.insert(name, spoken);
                taken.insert(name);
            }
        }
        self.pairs.retain(|p| !taken.contains(&p.name()));
        self.pairs.extend(other.pairs.into_iter().filter(|p| taken.contains(&p.name())));
        self.spoken = known.into_values().collect();
        self.spoken.sort_unstable_by_key(Spoken::name);
    }

    /// How many pairs each connection has.
    fn pairs_of_each(&self) -> HashMap<Name, usize> {
        let mut many = HashMap::new();
        for pair in &self.pairs {
            *many.entry(pair.name()).or_default() += 1;
        }
        many
    }
}

/// A segment as far as it was taken from the wire.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Whose it is.
    pub from: u64,
    /// To whom.
    pub to: u64,
    /// The number of its first byte.
    pub seq: u32,
    /// It begins the connection.
    pub syn: bool,
    /// It came here, and was not sent from here.
    pub incoming: bool,
    /// Bytes of data in it …
    pub length: usize,
    /// … and as many of them as were taken.
    pub bytes: &'a [u8],
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct DirectionState {
    /// The number of its SYN.
    first: Option<u32>,
    /// That came here, and then went out: it passes through here, and what comes to its end is not told by that.
    came: bool,
    passes: bool,
    /// As far as it was seen.
    seen: u64,
    /// Where the next header begins.
    next: u64,
    /// What is known of it.
    header: Vec<u8>,
    /// The next header is known to be there.
    synced: bool,
    /// As far as it came here without a gap, what came behind one (from, to), how many bytes that were with those that
    /// came again, and what brought it no further.
    come: u64,
    early: BTreeMap<u64, u64>,
    heard: u64,
    again: Vec<(u64, i64)>,
    /// How many there were of these when the gap was seen.
    known: usize,
}

impl DirectionState {
    /// From the number in a segment to the place.
    fn place(&self, seq: u32) -> Option<u64> {
        let expected = self.first?.wrapping_add(1).wrapping_add(self.seen as u32);
        self.seen.checked_add_signed(i64::from(seq.wrapping_sub(expected) as i32))
    }

    /// How far a segment brought it that came here: it may have been there already, or be here before its turn (it was
    /// sent again on another processor, and the first one waits at this one).
    fn account(&mut self, segment: &Segment<'_>) {
        let Some(begin) = self.place(segment.seq) else { return };
        let (before, end) = (self.come, begin + segment.length as u64);
        if begin > self.come {
            if self.early.is_empty() {
                self.known = self.again.len();
            }
            if self.early.len() < WAITING {
                let there = self.early.entry(begin).or_insert(end);
                *there = end.max(*there);
            }
        } else {
            self.come = self.come.max(end);
            while let Some(next) = self.early.first_entry().filter(|e| *e.key() <= self.come) {
                self.come = self.come.max(next.remove());
            }
        }
        let held = segment.length as i64 - (self.come - before) as i64;
        if held != 0 && self.again.len() < WAITING {
            self.again.push((self.heard, held));
        }
        self.heard += segment.length as u64;
    }

    /// What brought it no further. A gap that is there at the end was not seen here: what lies behind it had come.
    fn held(&self) -> &[(u64, i64)] {
        if self.early.is_empty() { &self.again } else { &self.again[..self.known] }
    }

    /// The next header is somewhere behind this.
    fn restart(&mut self, at: u64) {
        (self.synced, self.next) = (false, at);
        self.header.clear();
    }
}

#[derive(Debug)]
struct Waiting {
    asked: (u64, u64),
    answer: Option<u64>,
    brings: u64,
    deed: u8,
}

#[derive(Debug)]
struct Connection {
    directions: BTreeMap<u64, DirectionState>,
    /// Which protocol, and which end asks.
    spoken: Option<(usize, u64)>,
    waiting: HashMap<u64, Waiting>,
    unmatched: u64,
    /// Ends with these names had a connection before.
    again: bool,
}

/// Reads the connections that one place sees.
pub struct Reader<'a> {
    protocols: &'a [Protocol],
    connections: HashMap<(u64, u64), Connection>,
    pairs: Vec<Tagged>,
    most: usize,
}

impl<'a> Reader<'a> {
    /// At most so many pairs are kept.
    #[must_use]
    pub fn new(protocols: &'a [Protocol], most: usize) -> Self {
        Self { protocols, connections: HashMap::new(), pairs: Vec::new(), most }
    }

    /// The next segment. How many of its bytes have to be taken to read it, where those given are too few: then it has to
    /// come again with them.
    pub fn feed(&mut self, segment: &Segment<'_>) -> Option<usize> {
        let key = (segment.from.min(segment.to), segment.from.max(segment.to));
        if segment.syn {
            self.begin(key, segment);
            return None;
        }
        let connection = self.connections.get_mut(&key)?;
        let needs = connection.read(segment, self.protocols, &mut self.pairs, self.most);
        if needs.is_none()
            && segment.incoming
            && let Some(direction) = connection.directions.get_mut(&segment.from)
        {
            direction.account(segment);
        }
        needs
    }

    fn begin(&mut self, key: (u64, u64), segment: &Segment<'_>) {
        if self.connections.len() >= CONNECTIONS && !self.connections.contains_key(&key) {
            return;
        }
        let connection = self.connections.entry(key).or_insert_with(|| Connection {
            directions: BTreeMap::new(),
            spoken: None,
            waiting: HashMap::new(),
            unmatched: 0,
            again: false,
        });
        let direction = connection.directions.entry(segment.from).or_default();
        // The next one of the same name cannot be told apart by anybody who has names alone.
        connection.again |= direction.first.is_some_and(|first| first != segment.seq);
        direction.passes |= direction.came && !segment.incoming;
        direction.came |= segment.incoming && direction.first.is_none();
        direction.first = Some(segment.seq);
    }

    /// What was read.
    #[must_use]
    pub fn finish(self) -> Messages {
        let (mut spoken, mut twice) = (Vec::new(), Vec::new());
        let mut again = Vec::new();
        for ((one, other), connection) in self.connections {
            let Some((_, client)) = connection.spoken else { continue };
            let server = if client == one { other } else { one };
            if connection.again {
                twice.push((client, server));
                continue;
            }
            for (from, direction) in connection.directions.iter().filter(|(_, d)| !d.passes) {
                let to = if *from == client { server } else { client };
                again.extend(direction.held().iter().map(|&(at, bytes)| Again {
                    from: *from,
                    to,
                    at,
                    bytes,
                }));
            }
            let waiting = connection.waiting.len() as u64;
            spoken.push(Spoken { client, server, unmatched: connection.unmatched, waiting });
        }
        spoken.sort_by_key(|s| (s.client, s.server));
        let mut pairs = self.pairs;
        pairs.retain(|p| !twice.contains(&(p.client, p.server)));
        again.sort_unstable();
        Messages { pairs, spoken, again }
    }
}

/// What a header said.
enum Read<'a> {
    Row(&'a Row),
    Needs(usize),
    Nothing,
}

fn row_of<'a>(rows: &'a [Row], asks: bool, header: &[u8]) -> Read<'a> {
    let own = rows.iter().filter(|r| r.role == Role::Other || r.asks() == asks);
    let mut needs: Option<usize> = None;
    for row in own {
        match row.fits(header) {
            Fit::Yes if needs.is_none() => return Read::Row(row),
            // An earlier row may still fit.
            Fit::Yes => break,
            Fit::Needs(bytes) => needs = Some(needs.unwrap_or(bytes).min(bytes)),
            Fit::No => {}
        }
    }
    needs.map_or(Read::Nothing, Read::Needs)
}

impl Connection {
    fn read(
        &mut self,
        segment: &Segment<'_>,
        protocols: &[Protocol],
        pairs: &mut Vec<Tagged>,
        most: usize,
    ) -> Option<usize> {
        if self.spoken.is_none() {
            match recognise(protocols, segment) {
                Ok(spoken) => self.spoken = spoken.map(|number| (number, segment.from)),
                Err(needs) => return Some(needs),
            }
        }
        let direction = self.directions.get_mut(&segment.from)?;
        let begin = direction.place(segment.seq)?;
        let end = begin + segment.length as u64;
        let Some((protocol, client)) = self.spoken else {
            // What comes before the first question is a greeting; where some of it is missing, that may have been one.
            self.unmatched |= u64::from(begin > direction.seen);
            direction.seen = direction.seen.max(end);
            direction.next = direction.seen;
            return None;
        };
        let rows = &protocols[protocol].rows;
        let asks = segment.from == client;
        let server = if asks { segment.to } else { segment.from };
        loop {
            let direction = self.directions.get_mut(&segment.from)?;
            let at = direction.next + direction.header.len() as u64;
            if at >= end {
                break;
            }
            if at < begin {
                // A header was in what was not seen.
                direction.restart(begin);
                self.lose();
                continue;
            }
            let wanted = match row_of(rows, asks, &direction.header) {
                Read::Needs(bytes) => bytes,
                Read::Row(_) | Read::Nothing => direction.header.len() + 1,
            };
            let from = (at - begin) as usize;
            let missing = wanted.saturating_sub(direction.header.len()).min(segment.length - from);
            let Some(bytes) = segment.bytes.get(from..from + missing) else {
                return Some(from + missing);
            };
            direction.header.extend_from_slice(bytes);
            let row = match row_of(rows, asks, &direction.header) {
                Read::Needs(_) => continue,
                Read::Row(row) if direction.synced || row.role != Role::Other => row,
                Read::Row(_) | Read::Nothing => {
                    let lost = direction.synced;
                    // The next segment may begin with one again.
                    direction.restart(end);
                    if lost {
                        self.lose();
                    }
                    break;
                }
            };
            let header = std::mem::take(&mut direction.header);
            let begin = direction.next;
            let tag = row.tag.and_then(|t| t.of(&header));
            let brought =
                if row.brought { tag.and_then(|t| self.waiting.get(&t)).map(|w| w.brings) } else { Some(0) };
            let length = row.length.iter().try_fold(row.plus, |sum, n| sum.checked_add(n.of(&header)?));
            let whole = length.zip(brought).and_then(|(own, more)| own.checked_add(more));
            let Some(next) = whole.filter(|n| *n >= row.header as u64).and_then(|n| begin.checked_add(n))
            else {
                direction.restart(end);
                self.lose();
                break;
            };
            (direction.synced, direction.next) = (true, next);
            self.message(row, &header, tag, (begin, next), (client, server), pairs, most);
        }
        let direction = self.directions.get_mut(&segment.from)?;
        direction.seen = direction.seen.max(end);
        None
    }

    /// Something was not read. A question that waits may have been answered in it, and its tag used again.
    fn lose(&mut self) {
        self.unmatched += 1 + self.waiting.len() as u64;
        self.waiting.clear();
    }

    #[allow(clippy::too_many_arguments)]
    fn message(
        &mut self,
        row: &Row,
        header: &[u8],
        tag: Option<u64>,
        at: (u64, u64),
        (client, server): (u64, u64),
        pairs: &mut Vec<Tagged>,
        most: usize,
    ) {
        let Some(tag) = tag else { return };
        match row.role {
            Role::Other => {}
            Role::Question => {
                let brings = row.brings.and_then(|n| n.of(header)).unwrap_or(0);
                let question = Waiting { asked: at, answer: None, brings, deed: row.deed };
                if self.waiting.len() >= WAITING || self.waiting.insert(tag, question).is_some() {
                    self.unmatched += 1;
                }
            }
            Role::More => match self.waiting.get_mut(&tag) {
                Some(question) => question.asked.1 = at.1,
                None => self.unmatched += 1,
            },
            Role::Part => {
                if let Some(question) = self.waiting.get_mut(&tag) {
                    question.answer.get_or_insert(at.0);
                }
            }
            Role::Reply => match self.waiting.remove(&tag) {
                Some(question) if pairs.len() < most => pairs.push(Tagged {
                    client,
                    server,
                    asked: question.asked,
                    answered: (question.answer.unwrap_or(at.0), at.1),
                    deed: question.deed,
                }),
                _ => self.unmatched += 1,
            },
        }
    }
}

/// The protocol whose question a segment begins with; how many bytes decide it.
fn recognise(protocols: &[Protocol], segment: &Segment<'_>) -> Result<Option<usize>, usize> {
    for (number, protocol) in protocols.iter().enumerate() {
        for row in protocol.rows.iter().filter(|r| r.role == Role::Question) {
            match row.fits(segment.bytes) {
                Fit::Yes => return Ok(Some(number)),
                Fit::Needs(bytes) if bytes > segment.bytes.len() && segment.bytes.len() < segment.length => {
                    return Err(bytes.min(segment.length));
                }
                Fit::Needs(_) | Fit::No => {}
            }
        }
    }
    Ok(None)
}
