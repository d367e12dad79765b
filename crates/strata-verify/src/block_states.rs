//! What was written, block by block: the running state, and the same state rebuilt from a journal.
//!
//! The generation of a write is its number among the writes of its block, from 1; at most one write of a block is in
//! flight. So no event needs to carry a generation.

use crate::classify::Expect;

/// Something that happened to a block or to the whole target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The next generation of a block is about to be written.
    Issued(u64),
    /// That write was acknowledged.
    Acked(u64),
    /// Flush `id` begins; no other of this id is running.
    FlushBegun(u64),
    /// Flush `id` was acknowledged: what was acknowledged before it began is durable.
    Flushed(u64),
    /// A power loss was survived and looked at: what was neither flushed nor seen since is not promised any more.
    PowerLost,
}

/// What the target may have gone through since it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Nothing, or a process was killed: what was acknowledged has to be there.
    #[default]
    Process,
    /// Power was lost: what was flushed has to be there.
    Power,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Block {
    issued: u32,
    acked: u32,
    flushed: u32,
    seen: u32,
}

/// The most blocks that are kept track of: 4 GiB of state.
pub const MOST_BLOCKS: u64 = 1 << 28;

/// The state of `blocks` blocks, 16 bytes each.
#[derive(Clone, Debug)]
pub struct BlockStates {
    first: u64,
    blocks: Vec<Block>,
    /// Each write is durable when it is acknowledged.
    durable: bool,
    /// Acknowledged and not flushed: block and generation, in the order of acknowledgement.
    dirty: std::collections::VecDeque<(u64, u32)>,
    /// How many entries have left `dirty`.
    gone: u64,
    /// Flushes that run: their id, and the number of the first entry they do not cover.
    flushing: Vec<(u64, u64)>,
}

impl BlockStates {
    /// Blocks `first..end`, never written. With `durable` an acknowledged write needs no flush.
    #[must_use]
    pub fn new(first: u64, end: u64, durable: bool) -> Self {
        let blocks = vec![Block::default(); end.saturating_sub(first) as usize];
        Self { first, blocks, durable, dirty: Default::default(), gone: 0, flushing: Vec::new() }
    }

    /// The part `first..end` of a states on its own, without the flushes that run.
    #[must_use]
    pub fn part(&self, first: u64, end: u64) -> Self {
        let at = |block: u64| (block - self.first) as usize;
        let inside = |&(block, _): &(u64, u32)| (first..end).contains(&block);
        Self {
            first,
            blocks: self.blocks[at(first)..at(end)].to_vec(),
            durable: self.durable,
            dirty: self.dirty.iter().copied().filter(inside).collect(),
            gone: 0,
            flushing: Vec::new(),
        }
    }

    /// Whether `event` can follow what is in the states.
    #[must_use]
    pub fn allows(&self, event: Event) -> bool {
        match event {
            Event::Issued(block) => self.get(block).is_some_and(|b| b.issued < u32::MAX),
            Event::Acked(block) => self.get(block).is_some_and(|b| b.acked < b.issued),
            Event::FlushBegun(_) | Event::Flushed(_) | Event::PowerLost => true,
        }
    }

    /// Note an event; one that cannot be is left out.
    pub fn note(&mut self, event: Event) {
        if !self.allows(event) {
            return;
        }
        match event {
            Event::Issued(block) => {
                let entry = self.entry(block);
                entry.issued += 1;
            }
            Event::Acked(block) => {
                let durable = self.durable;
                let entry = self.entry(block);
                entry.acked = entry.issued;
                let generation = entry.acked;
                if durable {
                    entry.flushed = generation;
                } else {
                    self.dirty.push_back((block, generation));
                    self.thin_out();
                }
            }
            Event::FlushBegun(id) => {
                let end = self.gone + self.dirty.len() as u64;
                self.flushing.retain(|&(running, _)| running != id);
                self.flushing.push((id, end));
            }
            Event::PowerLost => {
                self.blocks.iter_mut().for_each(|b| b.acked = b.flushed.max(b.seen));
                self.dirty.clear();
                self.flushing.clear();
            }
            Event::Flushed(id) => {
                let Some(at) = self.flushing.iter().position(|&(running, _)| running == id) else { return };
                let (_, end) = self.flushing.swap_remove(at);
                while self.gone < end
                    && let Some((block, generation)) = self.dirty.pop_front()
                {
                    self.gone += 1;
                    let entry = self.entry(block);
                    entry.flushed = entry.flushed.max(generation);
                }
            }
        }
    }

    /// A target that is never flushed must not fill the memory: of each block its last write is enough, as long as no
    /// flush is running that covers an earlier one.
    fn thin_out(&mut self) {
        if self.dirty.len() > 2 * self.blocks.len() + 1024 && self.flushing.is_empty() {
            let (first, blocks) = (self.first, &self.blocks);
            self.dirty.retain(|&(block, generation)| blocks[(block - first) as usize].acked == generation);
        }
    }

    /// Note that a read gave `generation` whole.
    pub fn saw(&mut self, block: u64, generation: u64) {
        let entry = self.entry(block);
        entry.seen = entry.seen.max(generation as u32);
    }

    /// The generation that was issued last; 0 before the first.
    #[must_use]
    pub fn issued(&self, block: u64) -> u64 {
        self.get(block).map_or(0, |b| b.issued.into())
    }

    /// What a read may give.
    #[must_use]
    pub fn expect(&self, block: u64, loss: Loss, atomic: bool) -> Expect {
        let b = self.get(block).copied().unwrap_or_default();
        let must = if loss == Loss::Power { b.flushed } else { b.acked };
        Expect { must: must.into(), may: b.issued.into(), seen: b.seen.into(), atomic }
    }

    /// How many blocks have an acknowledged write, one whose outcome is not known, and one that is not flushed.
    #[must_use]
    pub fn count(&self) -> (u64, u64, u64) {
        let count = |is: fn(&Block) -> bool| self.blocks.iter().filter(|b| is(b)).count() as u64;
        (count(|b| b.acked > 0), count(|b| b.issued > b.acked), count(|b| b.acked > b.flushed))
    }

    fn get(&self, block: u64) -> Option<&Block> {
        self.blocks.get(block.checked_sub(self.first)? as usize)
    }

    fn entry(&mut self, block: u64) -> &mut Block {
        &mut self.blocks[(block - self.first) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn noted(events: &[Event]) -> BlockStates {
        let mut states = BlockStates::new(0, 4, false);
        events.iter().for_each(|&event| states.note(event));
        states
    }

    fn bounds(states: &BlockStates, block: u64, loss: Loss) -> (u64, u64) {
        let e = states.expect(block, loss, false);
        (e.must, e.may)
    }

    #[test]
    fn only_what_was_acknowledged_before_a_flush_began_is_flushed() {
        use Event::*;
        let states = noted(&[
            Issued(0),
            Acked(0),
            Issued(1),
            FlushBegun(7),
            Acked(1),
            Issued(0),
            Acked(0),
            Flushed(7),
            Issued(2),
        ]);
        assert_eq!(bounds(&states, 0, Loss::Power), (1, 2));
        assert_eq!(bounds(&states, 0, Loss::Process), (2, 2));
        assert_eq!(bounds(&states, 1, Loss::Power), (0, 1));
        assert_eq!(bounds(&states, 2, Loss::Process), (0, 1));
        assert_eq!(states.count(), (2, 1, 2));
    }

    #[test]
    fn after_a_power_loss_only_what_was_flushed_is_promised() {
        use Event::*;
        let mut states =
            noted(&[Issued(0), Acked(0), FlushBegun(0), Flushed(0), Issued(0), Acked(0), PowerLost]);
        assert_eq!(bounds(&states, 0, Loss::Process), (1, 2));
        states.note(Issued(0));
        states.note(Acked(0));
        assert_eq!(bounds(&states, 0, Loss::Process), (3, 3));
    }

    #[test]
    fn what_cannot_be_is_left_out() {
        let states = noted(&[Event::Acked(0), Event::Issued(9), Event::Flushed(3)]);
        assert_eq!(states.count(), (0, 0, 0));
    }

    #[test]
    fn a_book_that_is_never_flushed_stays_small() {
        let mut states = BlockStates::new(0, 4, false);
        for n in 0..100_000u64 {
            states.note(Event::Issued(n % 4));
            states.note(Event::Acked(n % 4));
        }
        assert!(states.dirty.len() < 2000);
        states.note(Event::FlushBegun(0));
        states.note(Event::Flushed(0));
        assert!((0..4).all(|b| bounds(&states, b, Loss::Power) == (25_000, 25_000)));
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (0u64..4).prop_map(Event::Issued),
            (0u64..4).prop_map(Event::Acked),
            (0u64..2).prop_map(Event::FlushBegun),
            (0u64..2).prop_map(Event::Flushed),
        ]
    }

    proptest! {
        #[test]
        fn the_bounds_keep_their_order(events in prop::collection::vec(event(), 0..200)) {
            let states = noted(&events);
            for block in 0..4 {
                let (flushed, may) = bounds(&states, block, Loss::Power);
                let (acked, _) = bounds(&states, block, Loss::Process);
                prop_assert!(flushed <= acked && acked <= may);
            }
        }

        #[test]
        fn a_shorter_journal_promises_no_more(events in prop::collection::vec(event(), 0..200), cut in 0usize..200) {
            // A journal that lost its end may only make the check more lenient.
            let (short, long) = (noted(&events[..cut.min(events.len())]), noted(&events));
            for block in 0..4 {
                for loss in [Loss::Process, Loss::Power] {
                    prop_assert!(bounds(&short, block, loss).0 <= bounds(&long, block, loss).0);
                }
            }
        }
    }
}
