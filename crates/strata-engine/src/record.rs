//! What one thread counts, and how it hands its intervals over.

use std::sync::mpsc::Sender;

use strata_hist::{Histogram, Sparse};
use strata_pattern::Op;

/// Failed I/Os of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCount {
    /// The errno; 0 for an I/O that moved fewer bytes than asked.
    pub errno: i32,
    /// How many.
    pub count: u64,
    /// Offset at the target of the first one.
    pub first_offset: u64,
}

/// How many kinds of I/O are told apart, in the order of [`Op`].
pub const LANES: usize = 4;

/// One kind of I/O.
#[derive(Debug)]
pub struct Lane {
    /// Bytes and errors of the interval that is open.
    bytes: u64,
    errors: u64,
    /// Service times of the interval that is open: one for each I/O that completed well.
    service: Histogram,
    /// I/Os and bytes of the intervals before.
    pub ops: u64,
    /// See [`Self::ops`].
    pub moved: u64,
    /// Response times of the whole run (open loop).
    pub response: Histogram,
    /// Sampled durations of the submit call, whole run.
    pub submit: Histogram,
    /// Failures of the whole run.
    pub failures: Vec<ErrorCount>,
}

/// One kind of I/O in one interval of one thread.
#[derive(Clone, Debug, Default)]
pub struct LanePart {
    /// I/Os that completed well.
    pub ops: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Their service times (of the good ones).
    pub service: Sparse,
}

/// One interval of one thread.
#[derive(Clone, Debug)]
pub struct Part {
    /// Which thread.
    pub thread: u32,
    /// Which interval, counted from the end of the ramp.
    pub index: u64,
    /// End, in ns since the end of the ramp.
    pub end_ns: u64,
    /// One for each [`Op`].
    pub lanes: [LanePart; LANES],
}

/// Where finished intervals go.
pub trait Sink {
    /// Take one.
    fn part(&mut self, part: Part);
}

impl<T: From<Part>> Sink for Sender<T> {
    fn part(&mut self, part: Part) {
        // The receiver lives as long as the threads; were it gone, nobody would miss the interval.
        let _ = self.send(T::from(part));
    }
}

impl Lane {
    fn new() -> Self {
        Self {
            bytes: 0,
            errors: 0,
            service: Histogram::new(),
            ops: 0,
            moved: 0,
            response: Histogram::new(),
            submit: Histogram::new(),
            failures: Vec::with_capacity(16),
        }
    }

    fn drain(&mut self) -> LanePart {
        let service = self.service.drain();
        let part = LanePart {
            ops: service.count(),
            bytes: std::mem::take(&mut self.bytes),
            errors: std::mem::take(&mut self.errors),
            service,
        };
        self.ops += part.ops;
        self.moved += part.bytes;
        part
    }

    /// Count I/Os of `bytes` each that completed well, one after each of `services_ns`.
    #[inline(never)]
    pub fn done_all(&mut self, bytes: u32, services_ns: &[u64]) {
        self.bytes += u64::from(bytes) * services_ns.len() as u64;
        self.service.record_all(services_ns);
    }

    fn holds(&self) -> bool {
        !self.service.is_empty() || self.errors > 0
    }
}

/// One thread's counts. The totals of service time, ops and bytes are not kept here: they are the sum of the
/// intervals, so the two cannot disagree.
#[derive(Debug)]
pub struct Recorder<S: Sink> {
    /// One for each [`Op`].
    pub lanes: [Lane; LANES],
    /// Issue − intended start (open loop).
    pub lag: Histogram,
    /// When the first I/O was handed over, in ns; 0 before.
    pub first_ns: u64,
    sink: S,
    thread: u32,
    index: u64,
    ramp_end_ns: u64,
    interval_ns: u64,
    next_ns: u64,
    last_ns: u64,
    measuring: bool,
}

impl<S: Sink> Recorder<S> {
    /// Nothing is counted before `ramp_end_ns`.
    pub fn new(thread: u32, ramp_end_ns: u64, interval_ns: u64, sink: S) -> Self {
        Self {
            lanes: std::array::from_fn(|_| Lane::new()),
            lag: Histogram::new(),
            first_ns: 0,
            sink,
            thread,
            index: 0,
            ramp_end_ns,
            interval_ns,
            next_ns: ramp_end_ns,
            last_ns: 0,
            measuring: false,
        }
    }

    /// Nothing is counted before `ramp_end_ns`, which is known only when all threads are ready.
    pub fn count_from(&mut self, ramp_end_ns: u64) {
        (self.ramp_end_ns, self.next_ns) = (ramp_end_ns, ramp_end_ns);
    }

    /// The next instant at which [`Self::roll`] has something to do.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Whether the ramp is over.
    #[inline]
    pub fn measuring(&self) -> bool {
        self.measuring
    }

    /// Close every interval that ended by `now_ns`; true when this call ended the ramp.
    pub fn roll(&mut self, now_ns: u64) -> bool {
        let begins = !self.measuring && now_ns >= self.ramp_end_ns;
        if begins {
            self.measuring = true;
            self.next_ns = self.ramp_end_ns + self.interval_ns;
        }
        while self.measuring && self.next_ns <= now_ns {
            self.send(self.next_ns);
            self.index += 1;
            self.next_ns += self.interval_ns;
        }
        begins
    }

    /// Close the series at `end_ns` (or at the last I/O counted, when the decision to end was seen later).
    pub fn close(&mut self, end_ns: u64) -> u64 {
        let end_ns = end_ns.max(self.last_ns);
        self.roll(end_ns);
        let begun_ns = self.next_ns.saturating_sub(self.interval_ns);
        if self.measuring && (end_ns > begun_ns || self.lanes.iter().any(Lane::holds)) {
            self.send(end_ns);
        }
        self.measuring = false;
        end_ns
    }

    fn send(&mut self, end_ns: u64) {
        let part = Part {
            thread: self.thread,
            index: self.index,
            end_ns: end_ns - self.ramp_end_ns,
            lanes: self.lanes.each_mut().map(Lane::drain),
        };
        self.sink.part(part);
    }

    /// Something was counted at `now_ns`.
    #[inline]
    pub fn counted(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
    }

    /// Count `n` I/Os of `bytes` each that completed well after `service_ns`; [`Self::counted`] says when.
    #[inline]
    pub fn done(&mut self, op: Op, bytes: u32, service_ns: u64, n: u64) {
        let lane = self.lane(op);
        lane.bytes += u64::from(bytes) * n;
        lane.service.record_many(service_ns, n);
    }

    /// A submit call that was sampled; the first one of a run always is. Not part of the loop's own code: it is rare there,
    /// and would take its registers.
    #[inline(never)]
    pub fn handed(&mut self, op: Op, issue_ns: u64, handed_ns: u64) {
        if self.first_ns == 0 {
            self.first_ns = issue_ns;
        }
        if self.measuring {
            self.lane(op).submit.record(handed_ns - issue_ns);
        }
    }

    /// Count an I/O that failed.
    #[cold]
    pub fn failed(&mut self, op: Op, errno: i32, offset: u64) {
        let lane = self.lane(op);
        lane.errors += 1;
        match lane.failures.iter_mut().find(|known| known.errno == errno) {
            Some(known) => known.count += 1,
            None => lane.failures.push(ErrorCount { errno, count: 1, first_offset: offset }),
        }
    }

    /// The kind of I/O that `op` is.
    #[inline]
    pub fn lane(&mut self, op: Op) -> &mut Lane {
        &mut self.lanes[op as usize]
    }
}
