//! The faults of a run: each told once, however often it was read.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::classify::{Fault, NAMES};
use crate::stamp::Layout;

/// Faults that are remembered with their place; beyond it they are only counted, and the result says so.
const KEPT: usize = 1_000_000;

/// A fault and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Byte offset of the block at the target.
    pub offset: u64,
    /// What is wrong there.
    #[serde(flatten)]
    pub fault: Fault,
}

/// All that was found, keyed by block and by the last write of it: the same write is found wrong only once.
#[derive(Clone, Debug, Default)]
pub struct FaultLog {
    found: HashMap<(u64, u64), Fault>,
    beyond: u64,
}

/// What is told at the end.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Settled {
    /// How many of each kind; every kind is there.
    pub counts: BTreeMap<&'static str, u64>,
    /// The first ones by offset.
    pub listed: Vec<Found>,
    /// Faults that were not kept and are in none of the counts.
    pub beyond: u64,
}

impl FaultLog {
    /// A read of `block`, last written as `generation`, gave a fault.
    pub fn found(&mut self, block: u64, generation: u64, fault: Fault) {
        if self.found.len() >= KEPT && !self.found.contains_key(&(block, generation)) {
            self.beyond += 1;
            return;
        }
        self.found.entry((block, generation)).or_insert(fault);
    }

    /// A read of the block gave `seen` whole. A write that was missing before and is there now was not lost: reads
    /// disagree.
    pub fn fine(&mut self, block: u64, generation: u64, seen: u64) {
        // Nearly always empty: a healthy target pays nothing.
        if self.found.is_empty() {
            return;
        }
        if let Some(fault) = self.found.get_mut(&(block, generation))
            && let Fault::Lost { expected, found } = *fault
        {
            *fault = Fault::Stale { expected, found, seen };
        }
    }

    /// How many are known so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.found.len() as u64 + self.beyond
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Take in what another thread found.
    pub fn merge(&mut self, other: Self) {
        self.found.extend(other.found);
        self.beyond += other.beyond;
    }

    /// Count all and list the first `most`. A missing write that was found at another place is
    /// told there only.
    #[must_use]
    pub fn settle(&self, layout: &Layout, most: usize) -> Settled {
        let went: HashSet<(u64, u64)> = self
            .found
            .values()
            .filter_map(|fault| match fault {
                Fault::Misdirected { from, generation, .. } => Some((*from, *generation)),
                _ => None,
            })
            .collect();
        let missing = |fault: &Fault| matches!(fault, Fault::Lost { .. } | Fault::Foreign { .. });
        let mut listed: Vec<(u64, Found)> = self
            .found
            .iter()
            .map(|(&(block, generation), &fault)| (generation, Found { offset: layout.offset(block), fault }))
            .filter(|(generation, f)| !(missing(&f.fault) && went.contains(&(f.offset, *generation))))
            .collect();
        listed.sort_unstable_by_key(|(generation, found)| (found.offset, *generation));
        let mut counts: BTreeMap<_, _> = NAMES.map(|name| (name, 0)).into();
        for (_, found) in &listed {
            *counts.entry(found.fault.name()).or_default() += 1;
        }
        listed.truncate(most);
        Settled { counts, listed: listed.into_iter().map(|(_, found)| found).collect(), beyond: self.beyond }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LAYOUT: Layout = Layout { run: 1, first_byte: 0, block_bytes: 4096, sector_bytes: 512 };

    fn lost(expected: u64) -> Fault {
        Fault::Lost { expected, found: expected - 1 }
    }

    #[test]
    fn a_write_that_went_elsewhere_is_told_where_it_is() {
        let mut fault_log = FaultLog::default();
        fault_log.found(5, 2, lost(2));
        fault_log.found(6, 2, lost(2));
        fault_log.found(8, 1, Fault::Foreign { what: crate::classify::Foreign::Zeroes, sectors: 8 });
        fault_log.found(9, 1, Fault::Misdirected { from: 8 * 4096, generation: 1, sectors: 8 });
        fault_log.found(4, 2, Fault::Misdirected { from: 5 * 4096, generation: 2, sectors: 8 });
        let settled = fault_log.settle(&LAYOUT, 10);
        let told: Vec<_> = settled.listed.iter().map(|f| (f.offset, f.fault.name())).collect();
        assert_eq!(told, [(4 * 4096, "misdirected"), (6 * 4096, "lost"), (9 * 4096, "misdirected")]);
        assert_eq!(
            (settled.counts["lost"], settled.counts["misdirected"], settled.counts["foreign"]),
            (1, 2, 0)
        );
    }

    #[test]
    fn a_write_that_comes_to_light_later_is_stale() {
        let mut fault_log = FaultLog::default();
        fault_log.found(5, 2, lost(2));
        fault_log.fine(5, 3, 3);
        assert_eq!(fault_log.settle(&LAYOUT, 10).counts["lost"], 1);
        fault_log.fine(5, 2, 2);
        let settled = fault_log.settle(&LAYOUT, 10);
        assert_eq!(settled.listed[0].fault, Fault::Stale { expected: 2, found: 1, seen: 2 });
    }

    proptest! {
        #[test]
        fn parts_settle_as_the_whole(
            faults in prop::collection::vec((0u64..50, 2u64..5), 0..100), reads in 1usize..4, parts in 1u64..5,
        ) {
            let mut whole = FaultLog::default();
            let mut split = vec![FaultLog::default(); parts as usize];
            for &(block, generation) in &faults {
                for _ in 0..reads {
                    whole.found(block, generation, lost(generation));
                    split[(block % parts) as usize].found(block, generation, lost(generation));
                }
            }
            let mut merged = FaultLog::default();
            split.into_iter().for_each(|part| merged.merge(part));
            let (one, other) = (whole.settle(&LAYOUT, 7), merged.settle(&LAYOUT, 7));
            let distinct: HashSet<_> = faults.iter().collect();
            prop_assert_eq!(one.counts["lost"], distinct.len() as u64);
            prop_assert_eq!(&one.counts, &other.counts);
            prop_assert_eq!(&one.listed, &other.listed);
            prop_assert_eq!(one.listed.len(), distinct.len().min(7));
        }
    }
}
