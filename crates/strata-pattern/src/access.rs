//! One thread's sequence of I/Os, drawn ahead.

use crate::io::Io;
use crate::source::Source;

/// I/Os drawn at once. Small enough to stay in the first-level cache beside everything else the loop touches.
pub const AHEAD: usize = 64;

/// One thread's endless sequence: a [`Source`], asked for [`AHEAD`] I/Os at a time.
pub struct Access {
    /// Drawn and not yet handed out: those from `at` on.
    drawn: Box<[Io]>,
    at: usize,
    source: Box<dyn Source>,
}

impl Access {
    /// The sequence of `source`.
    #[must_use]
    pub fn new(source: impl Source + 'static) -> Self {
        Self::ahead(AHEAD, source)
    }

    /// The sequence of a `source` that threads share: drawn in pieces of `ahead` I/Os (at least 1).
    #[must_use]
    pub fn ahead(ahead: usize, source: impl Source + 'static) -> Self {
        let drawn = vec![Io::default(); ahead.max(1)].into_boxed_slice();
        Self { at: drawn.len(), drawn, source: Box::new(source) }
    }

    /// The next I/O.
    #[inline]
    pub fn draw(&mut self) -> Io {
        if self.at >= self.drawn.len() {
            self.refill();
        }
        let io = self.drawn[self.at];
        self.at += 1;
        io
    }

    #[cold]
    fn refill(&mut self) {
        self.source.fill(&mut self.drawn);
        self.at = 0;
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("ahead", &(self.drawn.len() - self.at)).finish_non_exhaustive()
    }
}
