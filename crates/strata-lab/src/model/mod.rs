//! How long each I/O of a disk takes: pure, on a clock that the caller reads.
//!
//! [`Model::serve`] is told the time and answers when the I/O is done; it never waits. What is injected is known
//! exactly, so [`Model::truth`] is the ground truth that measured figures are compared with.
//!
//! The way of an I/O: cap → cache → members of the stripe → a free server of each → position, transfer.
//! Everything is first come, first served in the order of the calls.

mod blocks;
mod bucket;
mod course;
mod head;
mod lru;
mod member;
mod params;
mod stripe;
#[cfg(test)]
mod tests;
mod truth;
mod write_cache;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bucket::Caps;
use course::Course;
use lru::ReadCache;
use member::Member;
pub use params::{Jitter, Params};
use strata_pattern::Rng;
use stripe::{Part, parts};
pub use truth::{Direction, Truth};
use write_cache::{Pending, WriteCache};

/// Streams of the seed: each mechanism draws from its own, so that switching one on leaves the others as they were.
mod stream {
    pub const JITTER: u64 = 1;
    pub const ERRORS: u64 = 2;
    pub const PHASE: u64 = 3;
}

/// Which way the data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
}

/// What the model says of one I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When it is answered.
    pub done_ns: u64,
    /// Part of its time in which it was worked on; the rest before `done_ns` was waiting.
    pub svc_ns: u64,
    /// Whether it is answered with EIO.
    pub fails: bool,
}

/// A disk of so many bytes.
#[derive(Debug)]
pub struct Model {
    size_bytes: u64,
    params: Params,
    course: Course,
    caps: Caps,
    members: Vec<Member>,
    read_cache: ReadCache,
    write_cache: WriteCache,
    jitter: Rng,
    errors: Rng,
    /// Ends of what is under way, to know the depth.
    outstanding: BinaryHeap<Reverse<u64>>,
    last_end: [Option<u64>; 2],
    scratch: Vec<Part>,
    truth: Truth,
}

impl Model {
    /// An idle disk at time 0.
    ///
    /// # Errors
    /// Parameters that contradict each other, by name.
    pub fn new(size_bytes: u64, params: Params) -> Result<Self, String> {
        params.check()?;
        let mut model = Self {
            size_bytes,
            course: Course::new(&params),
            caps: Caps::default(),
            members: Vec::new(),
            read_cache: ReadCache::default(),
            write_cache: WriteCache::default(),
            jitter: Rng::new(params.seed, stream::JITTER),
            errors: Rng::new(params.seed, stream::ERRORS),
            outstanding: BinaryHeap::new(),
            last_end: [None; 2],
            scratch: Vec::new(),
            truth: Truth::default(),
            params,
        };
        model.shape(0);
        Ok(model)
    }

    /// The parameters in force.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Other parameters from `now_ns` on. What is under way ends as it was promised.
    ///
    /// # Errors
    /// As [`Self::new`]; nothing is changed then.
    pub fn set(&mut self, now_ns: u64, params: Params) -> Result<(), String> {
        params.check()?;
        if params.seed != self.params.seed {
            self.jitter = Rng::new(params.seed, stream::JITTER);
            self.errors = Rng::new(params.seed, stream::ERRORS);
        }
        self.idle_until(now_ns);
        self.course = Course::new(&params);
        self.params = params;
        self.shape(now_ns);
        Ok(())
    }

    /// Bring members, servers and caches to the sizes of the parameters.
    fn shape(&mut self, now_ns: u64) {
        let p = &self.params;
        self.members.resize_with(p.members as usize, Member::default);
        for member in &mut self.members {
            member.resize(p.c as usize, now_ns);
        }
        self.read_cache.resize(p.rcache, p.rcache_block);
        self.truth.members.resize(self.members.len(), truth::MemberTruth::default());
    }

    /// Count anew from `now_ns`.
    pub fn reset(&mut self, now_ns: u64) {
        self.truth = Truth { since_ns: now_ns, ..Truth::default() };
        self.truth.members.resize(self.members.len(), truth::MemberTruth::default());
    }

    /// What was served since the last reset.
    #[must_use]
    pub fn truth(&mut self, now_ns: u64) -> Truth {
        self.truth.elapsed_ns = now_ns.saturating_sub(self.truth.since_ns);
        self.idle_until(now_ns);
        self.truth.write_cache.dirty_bytes = self.write_cache.dirty_bytes(now_ns);
        self.truth.clone()
    }

    /// When an I/O that arrives at `now_ns` is done. Times of later calls must not be earlier.
    pub fn serve(&mut self, now_ns: u64, op: Op, offset: u64, len: u64) -> Served {
        let sequential = self.last_end[op as usize] == Some(offset);
        self.last_end[op as usize] = Some(offset + len);
        let depth = self.note_depth(now_ns);
        let admitted = self.caps.admit(&self.params, now_ns, len);
        if admitted > now_ns {
            self.truth.capped.n += 1;
            self.truth.capped.ns += admitted - now_ns;
        }
        self.idle_until(admitted);
        let (done_ns, svc_ns) = match op {
            Op::Read => self.read(admitted, offset, len),
            Op::Write => self.write(admitted, offset, len),
        };
        let share = if op == Op::Read { self.params.eio_r } else { self.params.eio_w };
        let fails = share > 0.0 && unit(&mut self.errors) < share;
        self.outstanding.push(Reverse(done_ns));
        let seen = self.truth.direction(op);
        seen.n += 1;
        seen.bytes += len;
        seen.sequential += u64::from(sequential);
        seen.svc_ns += svc_ns;
        seen.wait_ns += done_ns - now_ns - svc_ns;
        seen.max_ns = seen.max_ns.max(done_ns - now_ns);
        seen.errors += u64::from(fails);
        seen.depth_sum += depth;
        Served { done_ns, svc_ns, fails }
    }

    /// When everything that was acknowledged is on the medium, plus what a flush itself takes.
    pub fn flush(&mut self, now_ns: u64) -> u64 {
        while self.write_cache.next().is_some() {
            self.drain_next();
        }
        let empty = self.write_cache.drained_at(now_ns);
        let done = self.course.end(empty, self.params.flush);
        self.truth.flush.n += 1;
        self.truth.flush.ns += done - now_ns;
        done
    }

    /// A discard costs nothing; it is counted.
    pub fn discard(&mut self, len: u64) {
        self.truth.discard.n += 1;
        self.truth.discard.bytes += len;
    }

    fn read(&mut self, at: u64, offset: u64, len: u64) -> (u64, u64) {
        if self.params.rcache > 0 {
            if self.read_cache.hit(offset, len) {
                self.truth.read_cache.hits += 1;
                let done = self.course.end(at, self.params.rcache_svc);
                return (done, done - at);
            }
            self.truth.read_cache.misses += 1;
            self.read_cache.insert(offset, len);
        }
        self.medium(at, Op::Read, offset, len)
    }

    fn write(&mut self, at: u64, offset: u64, len: u64) -> (u64, u64) {
        if self.params.wcache == 0 {
            return self.medium(at, Op::Write, offset, len);
        }
        let room = loop {
            match self.write_cache.room_at(at, len, self.params.wcache) {
                Some(room) => break room,
                None => self.drain_next(),
            }
        };
        if room > at {
            self.truth.write_cache.full += 1;
            self.truth.write_cache.full_ns += room - at;
        } else {
            self.truth.write_cache.absorbed += 1;
        }
        let done = self.course.end(room, self.params.wcache_svc);
        if self.params.drain > 0.0 || self.params.drain_svc > 0 {
            let start = self.write_cache.drained_at(room);
            let work = self.params.drain_svc + transfer_ns(len, self.params.drain);
            self.write_cache.drains(len, self.course.end(start, work));
        } else {
            self.write_cache.waits(Pending { since_ns: room, offset, len });
        }
        (done, done - room)
    }

    /// Let the medium do what it would have done by `now_ns`: it writes back when it has nothing else to do, and what
    /// it began it ends.
    fn idle_until(&mut self, now_ns: u64) {
        while let Some(write) = self.write_cache.next() {
            let p = &self.params;
            parts(write.offset, write.len, u64::from(p.members), p.stripe, &mut self.scratch);
            let free = self.scratch.iter().map(|part| self.members[part.member].free_ns()).max();
            if free.unwrap_or(0).max(write.since_ns) >= now_ns {
                break;
            }
            self.drain_next();
        }
    }

    /// Write back the oldest write, at once or as soon as the medium is free.
    fn drain_next(&mut self) {
        if let Some(write) = self.write_cache.next() {
            let (done, _) = self.medium(write.since_ns, Op::Write, write.offset, write.len);
            self.write_cache.next_drains(done);
        }
    }

    /// Every member does its part; the slowest decides.
    fn medium(&mut self, at: u64, op: Op, offset: u64, len: u64) -> (u64, u64) {
        let p = &self.params;
        parts(offset, len, u64::from(p.members), p.stripe, &mut self.scratch);
        let mut slowest = (at, 0);
        for part in &self.scratch {
            let job = member::IoPart {
                op,
                offset: part.offset,
                len: part.len,
                svc_ns: jittered(p, op, &mut self.jitter),
                factor: if p.lame == Some(part.member as u32) { p.lame_factor } else { 1.0 },
                size_bytes: self.size_bytes / u64::from(p.members),
            };
            let (done, svc) = self.members[part.member].serve(at, &job, p, &self.course, &mut self.truth);
            let seen = &mut self.truth.members[part.member];
            seen.n += 1;
            seen.busy_ns += svc;
            if done >= slowest.0 {
                slowest = (done, svc);
            }
        }
        slowest
    }

    fn note_depth(&mut self, now_ns: u64) -> u64 {
        while self.outstanding.peek().is_some_and(|end| end.0 <= now_ns) {
            self.outstanding.pop();
        }
        let depth = self.outstanding.len() as u64 + 1;
        self.truth.depth_max = self.truth.depth_max.max(depth);
        depth
    }
}

/// The fixed part of a service time with its jitter.
fn jittered(p: &Params, op: Op, rng: &mut Rng) -> u64 {
    let svc = if op == Op::Read { p.svc_r } else { p.svc_w };
    match p.jitter {
        Jitter::None => svc,
        Jitter::Uniform => (svc as f64 * (1.0 + p.spread * (2.0 * unit(rng) - 1.0))) as u64,
        // 1 − u is never 0, so that the logarithm is finite.
        Jitter::Exponential => (-(1.0 - unit(rng)).ln() * svc as f64) as u64,
    }
}

/// A number in [0, 1) with 53 random bits.
fn unit(rng: &mut Rng) -> f64 {
    (rng.bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Time for `len` bytes at `mb_s` MB/s (10⁶ bytes); 0 stands for no limit.
fn transfer_ns(len: u64, mb_s: f64) -> u64 {
    if mb_s > 0.0 { (len as f64 * 1000.0 / mb_s).round() as u64 } else { 0 }
}
