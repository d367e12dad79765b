//! Times at which the disk stands still or runs slower, whatever it is asked.

use super::{Params, stream};
use strata_pattern::Rng;

/// For `slow_ns` of each `every_ns`, work goes at `speed` (0: not at all).
#[derive(Clone, Copy, Debug)]
struct Wave {
    every_ns: u64,
    slow_ns: u64,
    phase_ns: u64,
    speed: f64,
}

impl Wave {
    /// The speed at `t`, and when it changes next.
    fn at(&self, t: u64) -> (f64, u64) {
        let into = (t + self.every_ns - self.phase_ns) % self.every_ns;
        if into < self.slow_ns {
            (self.speed, t + self.slow_ns - into)
        } else {
            (1.0, t + self.every_ns - into)
        }
    }
}

/// Stalls and a speed that alternates, one over the other.
#[derive(Debug)]
pub struct Course {
    waves: Vec<Wave>,
}

impl Course {
    pub fn new(p: &Params) -> Self {
        let mut rng = Rng::new(p.seed, stream::PHASE);
        let mut waves = Vec::new();
        for (every_ns, slow_ns, speed) in
            [(p.stall_every, p.stall_for, 0.0), (p.gc_every, p.gc_for, 1.0 / p.gc_factor)]
        {
            // Drawn in any case: the phase of one does not depend on whether the other is there.
            let drawn = rng.bits();
            if every_ns > 0 && slow_ns > 0 {
                waves.push(Wave { every_ns, slow_ns, phase_ns: drawn % every_ns, speed });
            }
        }
        Self { waves }
    }

    /// When `work_ns` of work that begins at `start_ns` is done.
    pub fn end(&self, start_ns: u64, work_ns: u64) -> u64 {
        if self.waves.is_empty() {
            return start_ns + work_ns;
        }
        let (mut t, mut left) = (start_ns, work_ns as f64);
        loop {
            let mut speed = 1.0;
            let mut change = u64::MAX;
            for wave in &self.waves {
                let (its_speed, its_change) = wave.at(t);
                speed *= its_speed;
                change = change.min(its_change);
            }
            let done = left / speed; // infinite, or not a number without work, while it stands still
            if speed > 0.0 && done <= (change - t) as f64 {
                return t + done.round() as u64;
            }
            left -= (change - t) as f64 * speed;
            t = change;
        }
    }
}
