//! The steps in which a batch of I/Os is made: each sets one property of all of them.

use crate::io::Io;
use crate::source::Source;

/// One property of the I/Os. May look at what earlier stages have set.
///
/// A stage is called once for a batch, so that its loop holds nothing of the other stages.
pub(crate) trait Stage: Send {
    /// Set it in each of them.
    fn apply(&mut self, ios: &mut [Io]);
}

/// A source made of stages.
pub(crate) struct Staged {
    /// What no stage sets.
    pub common: Io,
    /// In this order.
    pub stages: Vec<Box<dyn Stage>>,
}

impl Source for Staged {
    fn fill(&mut self, out: &mut [Io]) {
        out.fill(self.common);
        for stage in &mut self.stages {
            stage.apply(out);
        }
    }
}
