//! From events to I/Os: which I/O of the entrance is in which request, when it was issued and when it was done.
//!
//! Requests have no number in the kernel's events; (operation, sector) names one while it is under way. An I/O that was
//! split is several pieces with one time of entrance; a request that was merged covers several pieces and counts from the
//! earliest. What was under way when the window began has a completion without an issue, and is counted, not guessed.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::event::{Event, Kind};
use crate::flags::{Flags, Op};

/// Pieces and requests that are kept at most, each; the oldest are forgotten and counted.
const MOST: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
struct Piece {
    sectors: u32,
    at_ns: u64,
    op: Op,
    pid: i32,
}

/// Which I/O is in a request: by when it entered, and the thread that brought it. Pieces of one I/O are told once each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// When it entered the block layer.
    pub at_ns: u64,
    /// The thread.
    pub pid: i32,
}

/// A request on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Io {
    /// First sector and length as issued.
    pub sector: u64,
    /// In sectors.
    pub sectors: u32,
    /// What it is.
    pub flags: Flags,
    /// When the first of its I/Os entered the block layer, where that was seen.
    pub queued_ns: Option<u64>,
    /// When the scheduler got it, where it did.
    pub inserted_ns: Option<u64>,
    /// When the driver got it.
    pub issued_ns: u64,
    /// When the last of it was done.
    pub done_ns: u64,
    /// Requests with the device, this one included, when it was issued.
    pub depth: u64,
    /// I/Os in it (0: their entrance was not seen).
    pub parts: u32,
    /// The thread that issued it.
    pub pid: i32,
    /// Its name.
    pub comm: u16,
    /// Which issue of this device it was, from 1 on.
    pub number: u64,
}

/// What an event meant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A request went to the device.
    Issued(Io),
    /// A request came back.
    Done(Io),
    /// Anything else.
    Other,
}

/// The pairing of one device.
#[derive(Debug, Default)]
pub struct Pairing {
    queued: BTreeMap<u64, VecDeque<Piece>>,
    pieces: usize,
    inserted: HashMap<(Op, u64), u64>,
    outstanding: HashMap<(Op, u64), VecDeque<InFlightIo>>,
    in_flight: u64,
    before: u64,
    /// Completions without an issue.
    pub unmatched: u64,
    /// Pieces or requests that were forgotten because there were too many.
    pub forgotten: u64,
    /// What is in the request that was issued last.
    pub gathered: Vec<Part>,
    issues: u64,
    by_bio: bool,
}

#[derive(Clone, Copy, Debug)]
struct InFlightIo {
    io: Io,
    left: u32,
}

impl Pairing {
    /// `by_bio`: the device has no requests, its I/Os are issued as they enter. `before`: requests that were already
    /// with the device when the window began (0 where not known).
    #[must_use]
    pub fn new(by_bio: bool, before: u64) -> Self {
        Self { by_bio, before, in_flight: before, ..Self::default() }
    }

    /// Requests still under way.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.outstanding.values().map(|q| q.len() as u64).sum()
    }

    /// The next event of this device, in time.
    pub fn feed(&mut self, event: &Event) -> Step {
        match event.kind {
            Kind::Queue if self.by_bio => self.issue(event),
            Kind::Queue => self.queue(event),
            Kind::Split => self.split(event),
            Kind::Insert => {
                if self.inserted.len() >= MOST {
                    self.inserted.clear();
                    self.forgotten += 1;
                }
                self.inserted.insert((event.flags.op, event.sector), event.at_ns);
                Step::Other
            }
            Kind::Issue if !self.by_bio => self.issue(event),
            Kind::Requeue => {
                if self.take(event).is_some() {
                    self.in_flight = self.in_flight.saturating_sub(1);
                }
                Step::Other
            }
            Kind::Complete if !self.by_bio => self.complete(event),
            Kind::BioComplete if self.by_bio => self.complete(event),
            _ => Step::Other,
        }
    }

    fn queue(&mut self, event: &Event) -> Step {
        if event.sectors > 0 {
            if self.pieces >= MOST {
                // Those that were answered without a request (by a driver of their own) stay behind.
                self.forgotten += self.pieces as u64;
                self.queued.clear();
                self.pieces = 0;
            }
            let piece =
                Piece { sectors: event.sectors, at_ns: event.at_ns, op: event.flags.op, pid: event.pid };
            self.queued.entry(event.sector).or_default().push_back(piece);
            self.pieces += 1;
        }
        Step::Other
    }

    fn split(&mut self, event: &Event) -> Step {
        let Some(cut) = event.other.checked_sub(event.sector).and_then(|n| u32::try_from(n).ok()) else {
            return Step::Other;
        };
        // The last one that entered is the one that is being cut.
        let pieces = self.queued.get_mut(&event.sector);
        let found =
            pieces.and_then(|p| p.iter_mut().rev().find(|p| p.op == event.flags.op && p.sectors > cut));
        if let Some(piece) = found {
            let rest = Piece { sectors: piece.sectors - cut, ..*piece };
            piece.sectors = cut;
            self.queued.entry(event.other).or_default().push_back(rest);
            self.pieces += 1;
        }
        Step::Other
    }

    fn issue(&mut self, event: &Event) -> Step {
        let key = (event.flags.op, key_sector(event));
        self.in_flight += 1;
        self.issues += 1;
        self.gathered.clear();
        let (queued_ns, parts) = self.gather(event);
        if self.by_bio {
            self.gathered = vec![Part { at_ns: event.at_ns, pid: event.pid }];
        }
        let io = Io {
            sector: event.sector,
            sectors: event.sectors,
            flags: event.flags,
            // Without requests there is no issue to wait for.
            queued_ns: if self.by_bio { None } else { queued_ns },
            inserted_ns: self.inserted.remove(&(event.flags.op, event.sector)),
            issued_ns: event.at_ns,
            done_ns: 0,
            depth: self.in_flight,
            parts: if self.by_bio { 1 } else { parts },
            pid: event.pid,
            comm: event.comm,
            number: self.issues,
        };
        if self.outstanding.len() >= MOST {
            self.forgotten += self.under_way();
            self.outstanding.clear();
            self.in_flight = 1;
        }
        self.outstanding.entry(key).or_default().push_back(InFlightIo { io, left: event.sectors });
        Step::Issued(io)
    }

    /// Takes the pieces that lie in the request: (earliest entrance, how many).
    fn gather(&mut self, event: &Event) -> (Option<u64>, u32) {
        let end = event.sector.saturating_add(u64::from(event.sectors));
        let (mut at, mut earliest, mut parts) = (event.sector, None::<u64>, 0);
        while at < end {
            let Some((&place, pieces)) = self.queued.range_mut(at..end).next() else { break };
            let index =
                pieces.iter().position(|p| p.op == event.flags.op && u64::from(p.sectors) <= end - place);
            let Some(piece) = index.and_then(|i| pieces.remove(i)) else {
                at = place + 1;
                continue;
            };
            if pieces.is_empty() {
                self.queued.remove(&place);
            }
            self.pieces -= 1;
            parts += 1;
            self.gathered.push(Part { at_ns: piece.at_ns, pid: piece.pid });
            earliest = Some(earliest.map_or(piece.at_ns, |t| t.min(piece.at_ns)));
            at = place + u64::from(piece.sectors);
        }
        (earliest, parts)
    }

    fn take(&mut self, event: &Event) -> Option<InFlightIo> {
        let key = (event.flags.op, key_sector(event));
        let waiting = self.outstanding.get_mut(&key)?;
        let first = waiting.pop_front();
        if waiting.is_empty() {
            self.outstanding.remove(&key);
        }
        first
    }

    fn complete(&mut self, event: &Event) -> Step {
        let Some(mut outstanding) = self.take(event) else {
            if event.sectors == 0 && event.flags.op != Op::Flush {
                // The end of a flush sequence: the request that asked for it was never with the device itself.
                return Step::Other;
            }
            self.unmatched += 1;
            if self.before > 0 {
                self.before -= 1;
                self.in_flight = self.in_flight.saturating_sub(1);
            }
            return Step::Other;
        };
        if event.sectors > 0 && event.sectors < outstanding.left {
            // Done in part: the rest is named by where it begins now.
            outstanding.left -= event.sectors;
            let next = event.sector.saturating_add(u64::from(event.sectors));
            self.outstanding.entry((event.flags.op, next)).or_default().push_back(outstanding);
            return Step::Other;
        }
        self.in_flight = self.in_flight.saturating_sub(1);
        Step::Done(Io { done_ns: event.at_ns, ..outstanding.io })
    }
}

/// A flush has no place, and the kernel does not name the same one at both ends.
fn key_sector(event: &Event) -> u64 {
    if event.sectors == 0 { u64::MAX } else { event.sector }
}
