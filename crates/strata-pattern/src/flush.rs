//! Flushes between writes.

use crate::access::Access;
use crate::io::{Io, Op};
use crate::source::Source;

/// A flush after every so many writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flush {
    /// [`Op::Fsync`] or [`Op::Fdatasync`].
    pub op: Op,
    /// Writes of one thread to one target after which it flushes that target; at least 1.
    pub every: u32,
}

/// Puts a flush of a target behind every so many writes to it. Writes that are still in flight when the flush is
/// handed over are not waited for.
pub(crate) struct Flushing {
    inner: Access,
    flush: Flush,
    /// Writes to each target since its last flush.
    since: Box<[u32]>,
    due: Option<u16>,
}

impl Flushing {
    pub fn new(inner: Access, flush: Flush, targets: usize) -> Self {
        Self { inner, flush, since: vec![0; targets].into(), due: None }
    }

    #[inline]
    fn next(&mut self) -> Io {
        if let Some(target) = self.due.take() {
            return Io::flush(self.flush.op, target);
        }
        let io = self.inner.draw();
        if io.op() == Op::Write {
            let since = &mut self.since[usize::from(io.target())];
            *since += 1;
            if *since >= self.flush.every {
                *since = 0;
                self.due = Some(io.target());
            }
        }
        io
    }
}

impl Source for Flushing {
    fn fill(&mut self, out: &mut [Io]) {
        out.iter_mut().for_each(|io| *io = self.next());
    }
}
