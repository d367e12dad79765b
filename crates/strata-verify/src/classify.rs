//! What a block that was read says about the target. Pure: bytes and an expectation in, a verdict out.

use serde::Serialize;

use crate::stamp::{self, Layout, Sector, Stamp};

/// What may stand in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// The oldest generation that may be there: the newest that was promised to stay. 0: nothing was promised.
    pub must: u64,
    /// The newest that may be there: the last one whose write was begun.
    pub may: u64,
    /// The newest that a read gave whole. What was seen once may not go away again.
    pub seen: u64,
    /// Also a write that was in flight has to be there wholly or not at all.
    pub atomic: bool,
}

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fault {
    /// A promised write is not there and never was seen: the block holds an older one.
    Lost {
        /// The generation that was promised.
        expected: u64,
        /// The one that is there.
        found: u64,
    },
    /// Reads disagree: one gave a later generation than another that came after it, without a write between.
    Stale {
        /// The generation that was promised or seen.
        expected: u64,
        /// The older one that a read gave.
        found: u64,
        /// The newer one that a read gave.
        seen: u64,
    },
    /// Sectors of more than one generation.
    Torn {
        /// The oldest; 0 is what was there before the first write.
        oldest: u64,
        /// The newest.
        newest: u64,
        /// Sectors that are not of the newest.
        old_sectors: u32,
    },
    /// Valid data that was written for another place.
    Misdirected {
        /// Byte offset of the block it was written for.
        from: u64,
        /// Its generation there.
        generation: u64,
        /// Sectors of it.
        sectors: u32,
    },
    /// A checksum fails.
    Corrupted {
        /// Bytes that differ from what was written.
        bytes: u64,
        /// Byte offset at the target of the first of them.
        first: u64,
        /// Sectors they lie in.
        sectors: u32,
    },
    /// Data that this run did not write.
    Foreign {
        /// What it looks like.
        #[serde(flatten)]
        what: Foreign,
        /// Sectors of it.
        sectors: u32,
    },
    /// The read failed.
    Unreadable {
        /// Why; 0 when it ended early.
        errno: i32,
    },
}

/// What data of others looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Foreign {
    /// Zeroes.
    Zeroes,
    /// No stamp.
    Unstamped,
    /// The stamp of another run.
    OtherRun {
        /// Which.
        run: u64,
    },
    /// A stamp of this run, of a write that was never begun as far as is known.
    NeverWritten {
        /// Its generation.
        generation: u64,
    },
}

/// What a read says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// One allowed generation.
    Whole(u64),
    /// Nothing was promised and nothing of ours is there.
    Unwritten,
    /// Parts of writes that were in flight, which is allowed.
    TornInFlight,
    /// None of these.
    Faulty(Fault),
}

/// Judge the `bytes` of the block at `offset`.
#[must_use]
pub fn classify(layout: &Layout, offset: u64, bytes: &[u8], expect: Expect) -> Verdict {
    let sectors: Vec<_> = layout.cut(offset).zip(bytes.chunks_exact(layout.sector_bytes as usize)).collect();
    let mut found = Tally::default();
    for &(at, sector) in &sectors {
        found.add(layout, at, stamp::read(sector));
    }
    let promised = expect.must.max(expect.seen);
    if promised > 0 || found.own > 0 {
        let damage = damaged(layout, &sectors, expect, &found);
        if let Some(fault) = damage {
            return Verdict::Faulty(fault);
        }
    }
    if let Some((from, generation)) = found.away {
        return Verdict::Faulty(Fault::Misdirected { from, generation, sectors: found.away_sectors });
    }
    if found.own > 0 && found.newest > expect.may {
        let what = Foreign::NeverWritten { generation: found.newest };
        return Verdict::Faulty(Fault::Foreign { what, sectors: found.own });
    }
    if let Some(what) = found.alien {
        // Before the first write anything may be there, and that write may be torn like any other.
        let before_the_first = expect.must <= 1 && expect.seen == 0 && (promised == 0 || found.own > 0);
        if !before_the_first {
            return Verdict::Faulty(Fault::Foreign { what, sectors: found.alien_sectors });
        }
        if found.own == 0 {
            return Verdict::Unwritten;
        }
        found.oldest = 0;
    }
    whole_or_torn(&found, &sectors, expect)
}

fn whole_or_torn(found: &Tally, sectors: &[(u64, &[u8])], expect: Expect) -> Verdict {
    let promised = expect.must.max(expect.seen);
    let (oldest, newest) = (found.oldest, found.newest);
    if oldest == newest {
        return match newest {
            generation if generation >= promised => Verdict::Whole(generation),
            found if found < expect.seen => {
                Verdict::Faulty(Fault::Stale { expected: promised, found, seen: expect.seen })
            }
            found => Verdict::Faulty(Fault::Lost { expected: promised, found }),
        };
    }
    if oldest >= promised && !expect.atomic {
        return Verdict::TornInFlight;
    }
    let old_sectors = found.old_sectors(sectors);
    Verdict::Faulty(Fault::Torn { oldest, newest, old_sectors })
}

/// What the sectors of a block say, summed up.
#[derive(Default)]
struct Tally {
    own: u32,
    oldest: u64,
    newest: u64,
    away: Option<(u64, u64)>,
    away_sectors: u32,
    alien: Option<Foreign>,
    alien_sectors: u32,
}

impl Tally {
    fn add(&mut self, layout: &Layout, at: u64, sector: Sector) {
        let mut alien = |what| {
            self.alien.get_or_insert(what);
            self.alien_sectors += 1;
        };
        match sector {
            Sector::Valid(s) if s.run != layout.run => alien(Foreign::OtherRun { run: s.run }),
            Sector::Valid(s) if s.offset != at => {
                self.away.get_or_insert((layout.home(s.offset), s.generation));
                self.away_sectors += 1;
            }
            Sector::Valid(s) => {
                self.oldest = if self.own == 0 { s.generation } else { self.oldest.min(s.generation) };
                self.newest = self.newest.max(s.generation);
                self.own += 1;
            }
            Sector::Zeroes => alien(Foreign::Zeroes),
            Sector::Unstamped => alien(Foreign::Unstamped),
            // Counted by `damaged`; where nothing was promised it is as good as foreign.
            Sector::Damaged => alien(Foreign::Unstamped),
        }
    }

    fn old_sectors(&self, sectors: &[(u64, &[u8])]) -> u32 {
        let newest = |sector: &[u8]| match stamp::read(sector) {
            Sector::Valid(s) => s.generation == self.newest,
            _ => false,
        };
        sectors.iter().filter(|(_, sector)| !newest(sector)).count() as u32
    }
}

/// The corruption of a block, if it has any: a stamp whose checksum fails, or data of ours but for a few bytes.
fn damaged(layout: &Layout, sectors: &[(u64, &[u8])], expect: Expect, found: &Tally) -> Option<Fault> {
    let mut generations = vec![expect.may, expect.must, expect.seen];
    if found.own > 0 {
        generations.extend([found.newest, found.oldest]);
    }
    generations.retain(|&generation| generation > 0);
    generations.sort_unstable();
    generations.dedup();
    let (mut bytes, mut first, mut count) = (0, None, 0);
    for &(at, sector) in sectors {
        let kind = stamp::read(sector);
        if !matches!(kind, Sector::Damaged | Sector::Unstamped) {
            continue;
        }
        let nearest = generations
            .iter()
            .map(|&generation| Stamp { run: layout.run, offset: at, generation }.difference(sector))
            .min();
        let Some((wrong, place)) = nearest else { continue };
        // Of unrelated bytes one in 256 agrees; of a damaged sector most do.
        if kind == Sector::Damaged || wrong < sector.len() as u64 / 2 {
            bytes += wrong;
            first.get_or_insert(at + place as u64);
            count += 1;
        }
    }
    first.map(|first| Fault::Corrupted { bytes, first, sectors: count })
}

impl Fault {
    /// Its name, as in JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Lost { .. } => "lost",
            Self::Stale { .. } => "stale",
            Self::Torn { .. } => "torn",
            Self::Misdirected { .. } => "misdirected",
            Self::Corrupted { .. } => "corrupted",
            Self::Foreign { .. } => "foreign",
            Self::Unreadable { .. } => "unreadable",
        }
    }
}

/// The names of all faults, in the order in which they are told.
pub const NAMES: [&str; 7] = ["lost", "stale", "torn", "misdirected", "corrupted", "foreign", "unreadable"];

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
