//! One member of the disk: servers that take the next I/O in order, and, in a hard disk, one head.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::blocks::Whole;
use super::course::Course;
use super::head::Head;
use super::truth::Truth;
use super::{Op, Params, transfer_ns};

/// One part of an I/O.
#[derive(Clone, Copy, Debug)]
pub struct IoPart {
    pub op: Op,
    pub offset: u64,
    pub len: u64,
    pub svc_ns: u64,
    pub factor: f64,
    pub size_bytes: u64,
}

/// Its servers, by when each is free, and its head.
#[derive(Debug, Default)]
pub struct Member {
    free: BinaryHeap<Reverse<u64>>,
    head: Head,
}

impl Member {
    /// So many servers; new ones are free at `now_ns`. Of fewer, those stay that are busy longest, so that nothing
    /// that was promised is overtaken.
    pub fn resize(&mut self, servers: usize, now_ns: u64) {
        while self.free.len() > servers {
            self.free.pop();
        }
        while self.free.len() < servers {
            self.free.push(Reverse(now_ns));
        }
    }

    /// When one of its servers is free.
    pub fn free_ns(&self) -> u64 {
        self.free.peek().map_or(0, |free| free.0)
    }

    /// When the part is done, and how much of it was service.
    pub fn serve(
        &mut self,
        at: u64,
        job: &IoPart,
        p: &Params,
        course: &Course,
        truth: &mut Truth,
    ) -> (u64, u64) {
        let free = self.free.pop().map_or(at, |free| free.0);
        let start = at.max(free);
        let whole = Whole::of(job.op, job.offset, job.len, p);
        let (before, work) = if p.has_head() {
            // A command that waits is decoded while the one before is carried out; only an idle disk shows `svc`.
            let ready = start.max(at + job.svc_ns);
            let before = self.read_before(ready, job, &whole, p, truth);
            // Reading, it passes over the rest of a block; writing, it writes all of it.
            let of_it = if job.op == Op::Read { *job } else { whole.job(job) };
            let begin = ready + before;
            (before, begin - start + self.head.work(begin, &of_it, p, &mut truth.head))
        } else {
            let each = p.block_svc + transfer_ns(p.block, p.bw(Op::Read));
            let before = whole.before() * each;
            let straddled = u64::from(whole.straddles) * p.block_svc;
            let work = before + job.svc_ns + straddled + transfer_ns(whole.len, p.bw(job.op));
            let slower = |ns: u64| (ns as f64 * job.factor) as u64;
            (slower(before), slower(work))
        };
        whole.count(job.op, before, p, &mut truth.block);
        let done = course.end(start, work);
        let longer = done - start - work;
        if longer > 0 {
            self.head.held_up(longer);
            truth.slowed.n += 1;
            truth.slowed.ns += longer;
        }
        self.free.push(Reverse(done));
        (done, done - start)
    }

    /// How long the head needs for the blocks that a write covers in part; it then waits until they come round again.
    fn read_before(&mut self, ready: u64, job: &IoPart, whole: &Whole, p: &Params, truth: &mut Truth) -> u64 {
        let mut now = ready;
        for &offset in whole.partial.iter().flatten() {
            let block = IoPart { op: Op::Read, offset, len: p.block, ..*job };
            now += p.block_svc + self.head.work(now, &block, p, &mut truth.head);
        }
        now - ready
    }
}
