//! Everything that is said about one device.

use serde::{Deserialize, Serialize};
use strata_hist::Histogram;

use crate::SECTOR;
use crate::event::{Event, Kind, Names};
use crate::flags::{Flags, Op};
use crate::pairing::{Io, Pairing, Step};
use crate::side::{Passing, PassingFigures, Times, times};
use crate::threads::{ThreadFigures, Threads};

const DEEPEST: usize = 4096;
const SLOWEST: usize = 10;

/// A device to follow: its own number, that of the whole disk if it is a part of one, and which sectors of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracedDevice {
    /// `vda1`.
    pub name: String,
    /// The number its requests carry: the whole disk's (major << 20 | minor).
    pub dev: u32,
    /// The number its I/Os may carry as they enter, where that is another (a partition's).
    pub entrance: Option<u32>,
    /// Only these sectors of the disk: first and end.
    pub sectors: Option<(u64, u64)>,
    /// It has no requests (zram, device mapper): I/Os are issued as they enter.
    pub by_bio: bool,
    /// Why it is here: the device itself, or what it stands on.
    pub role: String,
    /// The device that stands on it, where that is followed too.
    #[serde(default)]
    pub above: Option<String>,
    /// Where the sectors of that one lie on this disk: (there, here, how many); empty where it is not known.
    #[serde(default, skip_serializing)]
    pub extents: Vec<(u64, u64, u64)>,
}

impl TracedDevice {
    /// Whether an event is about it.
    #[must_use]
    pub fn takes(&self, event: &Event) -> bool {
        let here = event.dev == self.dev || Some(event.dev) == self.entrance;
        // A flush is of the whole device, wherever it is asked for.
        here && self.sectors.is_none_or(|(first, end)| {
            event.sectors == 0 && event.kind != Kind::Split || (first..end).contains(&event.sector)
        })
    }
}

/// One direction.
#[derive(Clone, Debug, Default)]
struct Half {
    entered: Passing,
    issued: Passing,
    service: Histogram,
    wait: Histogram,
    scheduler: Histogram,
    told: HalfFigures,
}

/// One direction in figures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HalfFigures {
    /// I/Os as they entered the block layer, before splits and merges.
    pub entered: PassingFigures,
    /// Requests as they went to the device.
    pub issued: PassingFigures,
    /// Issue to completion.
    pub service: Option<Times>,
    /// Entrance to issue.
    pub wait: Option<Times>,
    /// In the scheduler: insertion to issue.
    pub scheduler: Option<Times>,
    /// Requests that somebody waits for.
    pub sync: u64,
    /// Requests through the device's cache.
    pub write_through: u64,
    /// Requests that read ahead.
    pub read_ahead: u64,
}

impl Half {
    fn figures(&self) -> HalfFigures {
        HalfFigures {
            entered: self.entered.figures(),
            issued: self.issued.figures(),
            service: times(&self.service),
            wait: times(&self.wait),
            scheduler: times(&self.scheduler),
            ..self.told.clone()
        }
    }
}

/// One of the slowest requests. `at_ns` counts from the beginning of the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slow {
    at_ns: u64,
    op: Op,
    offset_bytes: u64,
    bytes: u64,
    wait_ns: Option<u64>,
    service_ns: u64,
    depth: u64,
    parts: u32,
    tid: i32,
    comm: String,
}

/// Follows one device. What is counted one by one is counted in `told`.
#[derive(Default)]
pub struct Device {
    told: DeviceFigures,
    pairing: Pairing,
    halves: [Half; 2],
    all: crate::order::Order,
    flush: Histogram,
    depth: Vec<u64>,
    entering: Threads,
    issuing: Threads,
    slowest: Vec<(u64, Io)>,
}

/// A device in figures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DeviceFigures {
    /// What was followed.
    pub target: TracedDevice,
    /// Reads.
    pub read: HalfFigures,
    /// Writes.
    pub write: HalfFigures,
    /// Requests of both directions in the order of issue.
    pub all: crate::order::OrderFigures,
    /// Flushes without data: issue to completion.
    pub flush: Option<Times>,
    /// Discards issued.
    pub discards: u64,
    /// Requests of other kinds.
    pub others: u64,
    /// I/Os that were cut (each cut counts).
    pub splits: u64,
    /// I/Os that joined a waiting request.
    pub merges: u64,
    /// Waiting requests that became one.
    pub request_merges: u64,
    /// Requests given to a scheduler.
    pub inserts: u64,
    /// Requests that were issued again.
    pub requeues: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests with the device at an issue, the new one included: (depth, how many issues).
    pub depth: Vec<(u64, u64)>,
    /// Threads that brought I/Os.
    pub entering: ThreadFigures,
    /// Threads that handed requests to the device.
    pub issuing: ThreadFigures,
    /// The slowest requests.
    pub slowest: Vec<Slow>,
    /// Requests that had begun before the window (completions without an issue).
    pub began_before: u64,
    /// Requests that were under way at its end.
    pub under_way: u64,
    /// Requests whose entrance was seen, and the I/Os in them are `parts`.
    pub parts: u64,
    /// What was forgotten because too much was under way.
    pub forgotten: u64,
}

impl Device {
    /// `before`: requests that were with the device when the window began.
    #[must_use]
    pub fn new(target: TracedDevice, before: u64) -> Self {
        let pairing = Pairing::new(target.by_bio, before);
        Self { pairing, told: DeviceFigures { target, ..DeviceFigures::default() }, ..Self::default() }
    }

    /// The next event, in time; those of other devices are passed over.
    pub fn feed(&mut self, event: &Event) {
        if !self.told.target.takes(event) {
            return;
        }
        match event.kind {
            Kind::Queue => {
                self.entering.feed(event);
                // A write without data is a flush that somebody asks for; it shows where it is issued.
                if let Some(half) = self.half(event.flags.op).filter(|_| event.sectors > 0) {
                    half.entered.feed(event.sector, event.sectors);
                }
            }
            Kind::Split => self.told.splits += 1,
            Kind::Merge => self.told.merges += 1,
            Kind::RequestMerge => self.told.request_merges += 1,
            Kind::Insert => self.told.inserts += 1,
            Kind::Requeue => self.told.requeues += 1,
            Kind::Complete | Kind::BioComplete if event.error != 0 => self.told.errors += 1,
            _ => {}
        }
        match self.pairing.feed(event) {
            Step::Issued(io) => self.issued(event, &io),
            Step::Done(io) => self.done(&io),
            Step::Other => {}
        }
    }

    fn half(&mut self, op: Op) -> Option<&mut Half> {
        match op {
            Op::Read => Some(&mut self.halves[0]),
            Op::Write => Some(&mut self.halves[1]),
            _ => None,
        }
    }

    fn issued(&mut self, event: &Event, io: &Io) {
        self.issuing.feed(event);
        let slot = (io.depth as usize).min(DEEPEST);
        if self.depth.len() <= slot {
            self.depth.resize(slot + 1, 0);
        }
        self.depth[slot] += 1;
        self.told.parts += u64::from(io.parts);
        self.told.discards += u64::from(io.flags.op == Op::Discard);
        self.told.others += u64::from(io.flags.op == Op::Other);
        let Some(half) = self.half(io.flags.op).filter(|_| io.sectors > 0) else { return };
        half.issued.feed(io.sector, io.sectors);
        half.told.sync += u64::from(io.flags.has(Flags::SYNC));
        half.told.write_through += u64::from(io.flags.has(Flags::FUA));
        half.told.read_ahead += u64::from(io.flags.has(Flags::AHEAD));
        if let Some(queued) = io.queued_ns {
            half.wait.record(io.issued_ns.saturating_sub(queued));
        }
        if let Some(inserted) = io.inserted_ns {
            half.scheduler.record(io.issued_ns.saturating_sub(inserted));
        }
        self.all.feed(io.sector, io.sector.saturating_add(u64::from(io.sectors)));
    }

    fn done(&mut self, io: &Io) {
        let service = io.done_ns.saturating_sub(io.issued_ns);
        if io.flags.op == Op::Flush {
            self.flush.record(service);
        }
        if let Some(half) = self.half(io.flags.op) {
            half.service.record(service);
        }
        let full = self.slowest.len() == SLOWEST;
        if full && self.slowest.last().is_some_and(|(least, _)| service <= *least) {
            return;
        }
        self.slowest.push((service, *io));
        self.slowest.sort_by_key(|(service, io)| (std::cmp::Reverse(*service), io.issued_ns));
        self.slowest.truncate(SLOWEST);
    }

    /// Completions without an issue, so far.
    #[must_use]
    pub fn unmatched(&self) -> u64 {
        self.pairing.unmatched
    }

    /// In figures. `begin_ns` is when the window began.
    #[must_use]
    pub fn figures(&self, names: &Names, begin_ns: u64) -> DeviceFigures {
        DeviceFigures {
            read: self.halves[0].figures(),
            write: self.halves[1].figures(),
            all: self.all.figures(),
            flush: times(&self.flush),
            depth: self
                .depth
                .iter()
                .enumerate()
                .filter(|(_, n)| **n > 0)
                .map(|(d, &n)| (d as u64, n))
                .collect(),
            entering: self.entering.figures(names),
            issuing: self.issuing.figures(names),
            slowest: self.slowest.iter().map(|(service, io)| slow(*service, io, names, begin_ns)).collect(),
            began_before: self.pairing.unmatched,
            under_way: self.pairing.under_way(),
            forgotten: self.pairing.forgotten,
            ..self.told.clone()
        }
    }
}

fn slow(service_ns: u64, io: &Io, names: &Names, begin_ns: u64) -> Slow {
    Slow {
        at_ns: io.issued_ns.saturating_sub(begin_ns),
        op: io.flags.op,
        offset_bytes: io.sector.saturating_mul(SECTOR),
        bytes: u64::from(io.sectors) * SECTOR,
        wait_ns: io.queued_ns.map(|queued| io.issued_ns.saturating_sub(queued)),
        service_ns,
        depth: io.depth,
        parts: io.parts,
        tid: io.pid,
        comm: names.name(io.comm).to_owned(),
    }
}
