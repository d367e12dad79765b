//! Share of reads.

use crate::io::{Io, Op};
use crate::rng::Rng;
use crate::source::Stage;

/// Share of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Each I/O is a read with this chance in percent, independently.
    ReadPercent(u8),
    /// As before, but the chance is taken once for so many I/Os of a thread, which then have one direction.
    Bursts(u8, u32),
}

impl Mix {
    /// Share of reads, 0 to 1.
    #[must_use]
    pub fn reads(self) -> f64 {
        match self {
            Self::Read => 1.0,
            Self::Write => 0.0,
            Self::ReadPercent(percent) | Self::Bursts(percent, _) => f64::from(percent.min(100)) / 100.0,
        }
    }

    /// The direction that all I/Os have, where they have one.
    pub(crate) fn only(self) -> Option<Op> {
        match self {
            Self::Read => Some(Op::Read),
            Self::Write => Some(Op::Write),
            Self::ReadPercent(_) | Self::Bursts(..) => None,
        }
    }
}

/// Sets the direction.
pub(crate) struct Directions {
    /// A draw of 32 bits below this is a read.
    read_below: u64,
    burst: u32,
    /// I/Os left of the burst, and its direction.
    left: u32,
    op: Op,
    rng: Rng,
}

impl Directions {
    pub fn new(mix: Mix, rng: Rng) -> Self {
        let percent = (mix.reads() * 100.0).round() as u64;
        let burst = if let Mix::Bursts(_, burst) = mix { burst.max(1) } else { 1 };
        Self { read_below: (percent << 32) / 100, burst, left: 0, op: Op::Read, rng }
    }

    #[inline]
    fn draw(&mut self) -> Op {
        if self.rng.bits() >> 32 < self.read_below { Op::Read } else { Op::Write }
    }
}

impl Stage for Directions {
    fn apply(&mut self, ios: &mut [Io]) {
        if self.burst == 1 {
            ios.iter_mut().for_each(|io| io.set_op(self.draw()));
            return;
        }
        for io in ios {
            if self.left == 0 {
                (self.op, self.left) = (self.draw(), self.burst);
            }
            self.left -= 1;
            io.set_op(self.op);
        }
    }
}
