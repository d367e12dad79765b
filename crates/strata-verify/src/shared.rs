//! What the threads of a verification share: whether to stop, and how far they are.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Counters for whoever watches, and the word to stop.
#[derive(Debug)]
pub(crate) struct Shared {
    begun: Instant,
    stop: AtomicBool,
    pub reads: AtomicU64,
    pub writes: AtomicU64,
    pub bytes: AtomicU64,
    pub faults: AtomicU64,
    /// Blocks that were come to, over all passes.
    pub blocks: AtomicU64,
    /// Each thread's pass, from 0, and whether it writes.
    pub passes: Vec<AtomicU32>,
    /// When each thread was last seen turning, in ns since the start; `u64::MAX`: it is done.
    beats: Vec<AtomicU64>,
}

/// Set on the pass of a thread while it writes.
pub(crate) const WRITING: u32 = 1 << 31;

impl Shared {
    pub fn new(threads: u32) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            begun: Instant::now(),
            stop: AtomicBool::new(false),
            reads: zero(),
            writes: zero(),
            bytes: zero(),
            faults: zero(),
            blocks: zero(),
            passes: (0..threads).map(|_| AtomicU32::new(0)).collect(),
            beats: (0..threads).map(|_| zero()).collect(),
        }
    }

    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub fn stopping(&self) -> bool {
        self.stop.load(Relaxed)
    }

    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub fn beat(&self, thread: u32) {
        self.beats[thread as usize].store(self.elapsed().as_nanos() as u64, Relaxed);
    }

    pub fn finished(&self, thread: u32) {
        self.beats[thread as usize].store(u64::MAX, Relaxed);
    }

    /// Threads that have not turned for longer than `limit`: inside a call that does not return.
    pub fn hanging(&self, limit: Duration) -> Vec<u32> {
        let now = self.elapsed().as_nanos() as u64;
        let late = |beat: &AtomicU64| now.saturating_sub(beat.load(Relaxed)) > limit.as_nanos() as u64;
        self.beats.iter().zip(0..).filter(|(beat, _)| late(beat)).map(|(_, thread)| thread).collect()
    }

    /// How far it is, as JSON.
    pub fn progress(&self, passes: Option<u32>, blocks: u64) -> String {
        let slowest = self.passes.iter().map(|pass| pass.load(Relaxed) & !WRITING).min().unwrap_or(0);
        let writing = self.passes.iter().any(|pass| pass.load(Relaxed) == slowest | WRITING);
        serde_json::json!({
            "elapsed_ns": self.elapsed().as_nanos() as u64,
            "pass": slowest,
            "passes": passes,
            "writing": writing,
            "done": self.blocks.load(Relaxed),
            "planned": passes.map(|passes| u64::from(passes) * blocks),
            "reads": self.reads.load(Relaxed),
            "writes": self.writes.load(Relaxed),
            "bytes": self.bytes.load(Relaxed),
            "faults": self.faults.load(Relaxed),
        })
        .to_string()
    }
}
