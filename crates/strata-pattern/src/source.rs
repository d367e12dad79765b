//! The port of an access pattern: whatever can say which I/Os come next.

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
