//! One thread's sequence of I/Os, drawn ahead.

use crate::io::Io;
use crate::source::Source;

/// I/Os drawn at once. Small enough to stay in the first-level cache beside everything else the loop touches.
pub const AHEAD: usize = 64;

/// One thread's endless sequence: a [`Source`], asked for many I/Os at a time.
pub struct Access {
    /// Drawn and not yet used: those in `at..end`.
    drawn: Box<[Io; 2 * AHEAD]>,
    at: usize,
    end: usize,
    /// Draw no more than is asked for.
    shared: bool,
    source: Box<dyn Source>,
}

impl Access {
    /// The sequence of `source`, drawn [`AHEAD`] I/Os at a time; one that is `shared` by threads is drawn as it is asked
    /// for, so that none runs ahead of the others.
    #[must_use]
    pub fn of(source: impl Source + 'static, shared: bool) -> Self {
        Self { drawn: Box::new([Io::default(); 2 * AHEAD]), at: 0, end: 0, shared, source: Box::new(source) }
    }

    /// The next I/Os, `most` of them but no more than [`AHEAD`]; [`Self::used`] says how many were used.
    #[inline]
    pub fn ahead(&mut self, most: usize) -> &[Io] {
        let most = most.min(AHEAD);
        if self.end - self.at < most {
            self.refill(most);
        }
        &self.drawn[self.at..self.at + most]
    }

    /// The first `n` of [`Self::ahead`] were used.
    #[inline]
    pub fn used(&mut self, n: usize) {
        debug_assert!(n <= self.end - self.at);
        self.at += n;
    }

    /// The next I/O.
    pub fn draw(&mut self) -> Io {
        let io = self.ahead(1)[0];
        self.used(1);
        io
    }

    #[cold]
    fn refill(&mut self, most: usize) {
        self.drawn.copy_within(self.at..self.end, 0);
        let left = self.end - self.at;
        // Always as many at once, whatever is left: what is drawn must not depend on how it is asked for.
        (self.at, self.end) = (0, if self.shared { most } else { left + AHEAD });
        self.source.fill(&mut self.drawn[left..self.end]);
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("ahead", &(self.end - self.at)).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(shared: bool) -> Access {
        let mut next = 0;
        let source = move || {
            next += 1;
            Io::read(next, 1)
        };
        Access::of(source, shared)
    }

    #[test]
    fn nothing_is_lost_or_repeated_however_it_is_asked_for() {
        for shared in [false, true] {
            let (mut access, mut expected) = (counting(shared), 1);
            for round in 0..1000usize {
                let most = round * 7 % 71;
                let seen: Vec<u64> = access.ahead(most).iter().map(|io| io.offset()).collect();
                assert_eq!(seen.len(), most.min(AHEAD));
                assert!(seen.iter().zip(expected..).all(|(&seen, expected)| seen == expected));
                let used = seen.len() * 2 / 3;
                access.used(used);
                expected += used as u64;
            }
        }
    }

    #[test]
    fn a_shared_source_is_asked_for_no_more_than_needed() {
        let mut access = counting(true);
        access.draw();
        access.ahead(5);
        assert_eq!((access.at, access.end), (0, 5));
    }
}
