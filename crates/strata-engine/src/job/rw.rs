//! The modes of a workload: the one table of what each `rw` does, and what follows from it.

use serde::Deserialize;
use strata_io::{Change, Kind};

use super::Target;

/// Direction and order, named as everywhere in the trade.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Rw {
    Read,
    Write,
    RandRead,
    RandWrite,
    Rw,
    RandRw,
    Trim,
    RandTrim,
}

/// Whether any I/O reads, what those that do not read change at the target, and whether offsets are drawn at random.
type Mode = (bool, Option<Change>, bool);

const WRITE: Option<Change> = Some(Change::Write(0));
const DISCARD: Option<Change> = Some(Change::Discard(Kind::File));

impl Rw {
    const fn mode(self) -> Mode {
        match self {
            Self::Read => (true, None, false),
            Self::Write => (false, WRITE, false),
            Self::RandRead => (true, None, true),
            Self::RandWrite => (false, WRITE, true),
            Self::Rw => (true, WRITE, false),
            Self::RandRw => (true, WRITE, true),
            Self::Trim => (false, DISCARD, false),
            Self::RandTrim => (false, DISCARD, true),
        }
    }

    /// Whether any I/O reads.
    #[must_use]
    pub fn reads(self) -> bool {
        self.mode().0
    }

    /// What I/Os that do not read change at the target; `None` where all of them read.
    #[must_use]
    pub fn change(self) -> Option<Change> {
        self.mode().1
    }

    /// Whether any I/O changes what is at the target: what asks for the right to write asks this.
    #[must_use]
    pub fn writes(self) -> bool {
        self.change().is_some()
    }

    /// Whether any I/O brings data that is to be kept.
    #[must_use]
    pub fn carries(self) -> bool {
        matches!(self.change(), Some(Change::Write(_)))
    }

    /// Whether offsets are drawn at random.
    #[must_use]
    pub fn is_random(self) -> bool {
        self.mode().2
    }

    /// Why it cannot be asked of `target`; `None` where it can.
    #[must_use]
    pub fn refusal(self, target: &Target) -> Option<&'static str> {
        match target {
            Target::Block { allow_write: false, .. } if self.writes() => {
                Some("the workload writes to a block device and allow_write is not set")
            }
            _ if target.remote().is_some() && self.writes() && !self.carries() => {
                Some("rw: only files and block devices of this machine can be trimmed")
            }
            _ => None,
        }
    }
}
