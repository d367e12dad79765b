//! The head of a hard disk: where it stands, where the platter is, what it read ahead.
//!
//! Nothing here says that order matters; it follows. A sequential write that comes while the one before is still being
//! written goes on at once; one that comes a moment late, or behind the block after it, waits for the platter to turn.

use super::member::IoPart;
use super::truth::HeadTruth;
use super::{Op, Params, transfer_ns};

/// Mean of √distance between two places drawn uniformly from a stroke of length 1: ∫ 2(1 − x)√x dx.
const MEAN_ROOT: f64 = 8.0 / 15.0;
/// A sector that passed by less than this part of a turn ago is still caught: rounding must not cost a turn.
const CAUGHT: u64 = 1000;

/// Where the head is.
#[derive(Debug, Default)]
pub struct Head {
    /// The byte behind the last I/O, and when the head was there.
    at: u64,
    at_ns: u64,
    /// After a read the drive reads on.
    reading: bool,
}

impl Head {
    /// Time from `ready_ns` until the part has been transferred.
    pub fn work(&mut self, ready_ns: u64, job: &IoPart, p: &Params, truth: &mut HeadTruth) -> u64 {
        let bw = p.bw(job.op);
        let transfer = |bytes| (transfer_ns(bytes, bw) as f64 * job.factor) as u64;
        let end = job.offset + job.len;
        if job.op == Op::Read && self.reading && job.offset >= self.at && end - self.at <= p.ahead {
            truth.read_ahead += 1;
            // The drive stops when its buffer is full: it is never further on than `ahead` bytes.
            let passed = self.at_ns + transfer(end - self.at);
            self.moved(job, passed.max(ready_ns.saturating_sub(transfer(p.ahead))));
            return passed.saturating_sub(ready_ns);
        }
        let turn = p.turn_ns();
        let track = (turn as f64 * bw / 1000.0) as u64;
        let distance = job.offset.abs_diff(self.at);
        let seek = if distance < track.max(1) { 0 } else { seek_ns(distance, job.size_bytes, p) };
        if seek > 0 {
            truth.seek.n += 1;
            truth.seek.ns += seek;
        }
        let wait = if turn == 0 { 0 } else { rotation_ns(ready_ns + seek, job.offset, turn, track) };
        if wait > 0 {
            truth.rotation.n += 1;
            truth.rotation.ns += wait;
            truth.rotations_lost += u64::from(distance < track / 2 && wait > turn / 2);
        }
        let work = ((seek + wait) as f64 * job.factor) as u64 + transfer(job.len);
        self.moved(job, ready_ns + work);
        work
    }

    fn moved(&mut self, job: &IoPart, passed_ns: u64) {
        self.at = job.offset + job.len;
        self.at_ns = passed_ns;
        self.reading = job.op == Op::Read;
    }

    /// It stood still, or was slow, for so long.
    pub fn held_up(&mut self, ns: u64) {
        self.at_ns += ns;
    }
}

/// Settling, and the root of the distance (a head that speeds up and slows down); `seek` is the mean over random places.
fn seek_ns(distance: u64, size_bytes: u64, p: &Params) -> u64 {
    let root = (distance as f64 / size_bytes.max(1) as f64).sqrt();
    p.settle + ((p.seek - p.settle) as f64 * root / MEAN_ROOT) as u64
}

/// Until the platter has brought the sector under the head.
fn rotation_ns(at_ns: u64, offset: u64, turn: u64, track: u64) -> u64 {
    let target = (u128::from(offset % track) * u128::from(turn) / u128::from(track)) as u64;
    let wait = (target + turn - at_ns % turn) % turn;
    if turn - wait <= turn / CAUGHT { 0 } else { wait }
}
