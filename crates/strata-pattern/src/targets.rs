//! Which of several targets.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use serde::Deserialize;

use crate::blocks::BlockMap;
use crate::io::Io;
use crate::rng::Rng;
use crate::source::Stage;
use crate::weighted::Weighted;

/// One target of a workload.
#[derive(Clone, Debug)]
pub struct Area {
    /// Its blocks.
    pub map: BlockMap,
    /// Its share of the I/Os is its weight over the sum of all weights.
    pub weight: u32,
    /// Steps taken of a sequence that threads share. Clones of an area go on where the others are.
    pub(crate) taken: Arc<AtomicU64>,
}

impl Area {
    /// A target with these blocks.
    #[must_use]
    pub fn new(map: BlockMap, weight: u32) -> Self {
        Self { map, weight, taken: Arc::default() }
    }
}

/// How the I/Os are distributed over the targets.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Every thread goes to every target, as often as its weight says.
    #[default]
    Share,
    /// Thread n goes to target n modulo the number of targets and to no other, so that each target has queues of
    /// its own. Weights play no part.
    Thread,
}

/// Sets the target.
pub(crate) struct Targets {
    choice: Weighted,
    rng: Rng,
}

impl Targets {
    /// `None` when all weights are 0.
    pub fn new(areas: &[Area], rng: Rng) -> Option<Self> {
        Weighted::new(areas.iter().map(|area| u64::from(area.weight))).map(|choice| Self { choice, rng })
    }
}

impl Stage for Targets {
    fn apply(&mut self, ios: &mut [Io]) {
        for io in ios {
            io.set_target(self.choice.draw(&mut self.rng) as u16);
        }
    }
}
