//! One direction, carried out: a thread that sleeps until a frame comes or one is due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use strata_proto::lock::lock;

use super::line::{Counts, FrameAction, Line};
use super::packet::{HEADER, PacketSocket};

/// The largest frame of an interface with segmentation offload is 64 KiB; larger ones are switched on by hand.
const LARGEST: usize = HEADER + (256 << 10);
/// A thread looks at least so often whether it is to end.
const LOOK: Duration = Duration::from_millis(50);
/// Frames fetched before those that are due are looked at again.
const AT_ONCE: usize = 64;
/// After an error of the interface (it is down, or gone) so long until the next try.
const AGAIN: Duration = Duration::from_millis(10);

/// What a direction did.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DirectionTruth {
    /// What became of its frames.
    #[serde(flatten)]
    pub counts: Counts,
    /// Frames that went out.
    pub sent: u64,
    /// Frames that the interface did not take.
    pub refused: u64,
    /// Frames that the kernel dropped before the hop saw them.
    pub missed: u64,
    /// Sum of how much later than due frames went out.
    pub late_ns: u64,
    /// The most.
    pub late_max_ns: u64,
}

struct Shared {
    line: Line,
    truth: DirectionTruth,
}

/// One direction.
pub struct Direction {
    shared: Mutex<Shared>,
}

impl Direction {
    pub fn new(line: Line) -> Self {
        Self { shared: Mutex::new(Shared { line, truth: DirectionTruth::default() }) }
    }

    pub fn with_line(&self, change: impl FnOnce(&mut Line)) {
        change(&mut lock(&self.shared).line);
    }

    pub fn truth(&self) -> DirectionTruth {
        let shared = lock(&self.shared);
        DirectionTruth { counts: shared.line.counts, ..shared.truth }
    }

    /// Count anew; what waits still waits.
    pub fn reset(&self) {
        let mut shared = lock(&self.shared);
        let waiting_bytes = shared.line.counts.waiting_bytes;
        shared.line.counts = Counts { waiting_bytes, waiting_max_bytes: waiting_bytes, ..Counts::default() };
        shared.truth = DirectionTruth::default();
    }

    /// Until `ended`.
    pub fn carry(&self, from: &PacketSocket, to: &PacketSocket, ended: &AtomicBool) {
        // As in the disk's queue: the time of waking is what is made here.
        let _kept = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let began = Instant::now();
        let now = || began.elapsed().as_nanos() as u64;
        let mut buffer = vec![0; LARGEST];
        let mut waiting: BinaryHeap<Reverse<(u64, u64, Vec<u8>)>> = BinaryHeap::new();
        let mut number = 0;
        while !ended.load(Ordering::Relaxed) {
            while waiting.peek().is_some_and(|Reverse((due, ..))| *due <= now()) {
                if let Some(Reverse((due, _, frame))) = waiting.pop() {
                    self.out(to, &frame, now() - due);
                }
            }
            let mut trouble = false;
            for _ in 0..AT_ONCE {
                match from.receive(&mut buffer) {
                    Ok(Some(len)) if len > HEADER => {
                        let at = now();
                        let action = lock(&self.shared).line.admit(at, (len - HEADER) as u64);
                        match action {
                            FrameAction::Due(due) if due <= at => self.out(to, &buffer[..len], 0),
                            FrameAction::Due(due) => {
                                number += 1;
                                waiting.push(Reverse((due, number, buffer[..len].to_vec())));
                            }
                            FrameAction::Lost | FrameAction::Full => {}
                        }
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(_) => {
                        trouble = true;
                        break;
                    }
                }
            }
            lock(&self.shared).truth.missed += from.missed();
            let until = waiting
                .peek()
                .map_or(LOOK, |Reverse((due, ..))| Duration::from_nanos(due.saturating_sub(now())).min(LOOK));
            if trouble {
                std::thread::sleep(until.min(AGAIN));
            } else {
                sleep(from, until);
            }
        }
    }

    fn out(&self, to: &PacketSocket, frame: &[u8], late_ns: u64) {
        let taken = to.send(frame).is_ok();
        let mut shared = lock(&self.shared);
        shared.line.sent((frame.len() - HEADER) as u64);
        shared.truth.sent += u64::from(taken);
        shared.truth.refused += u64::from(!taken);
        shared.truth.late_ns += late_ns;
        shared.truth.late_max_ns = shared.truth.late_max_ns.max(late_ns);
    }
}

/// Until a frame comes or the time is up.
fn sleep(from: &PacketSocket, until: Duration) {
    let timeout = Timespec { tv_sec: until.as_secs() as i64, tv_nsec: i64::from(until.subsec_nanos()) };
    // An error is looked at when the next frame is fetched.
    let _ready = poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&timeout));
}
