//! The port of an access pattern: whatever can say which I/Os come next, and the steps in which a batch of them is made.

use crate::io::Io;

/// An endless sequence of I/Os.
///
/// Called once for many I/Os, never for each: a pattern may be as elaborate as it likes without a branch or a
/// virtual call in the load loop.
pub trait Source: Send {
    /// Overwrite all of `out` with the next I/Os.
    fn fill(&mut self, out: &mut [Io]);
}

impl<F: FnMut() -> Io + Send> Source for F {
    fn fill(&mut self, out: &mut [Io]) {
        out.iter_mut().for_each(|io| *io = self());
    }
}

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
