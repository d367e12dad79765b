//! Requests at every device of the way, who asked for them, and which of them lie below which.

use std::collections::HashMap;

use crate::device::TracedDevice;
use crate::event::{Event, Kind};
use crate::flags::{Flags, Op};
use crate::pairing::{Io, Pairing, Step};

use super::calls::{Calls, Deed};

/// Askers and requests under way that are kept at most; all are forgotten, and counted, when there are more.
const MOST: usize = 1 << 16;
/// Requests above one that are looked at.
const LOOK_BACK: usize = 4096;

/// A request at a device.
#[derive(Clone, Debug)]
pub struct Block {
    /// Which device.
    pub target: usize,
    /// As it was issued; `done_ns` 0: under way when the window ended.
    pub io: Io,
    /// When it came to the device.
    pub begin_ns: u64,
    /// Those that asked for it.
    pub askers: usize,
    /// The request above it.
    pub upper: Option<usize>,
    /// Those below it.
    pub under: Vec<usize>,
    /// A request below it may as well belong to another.
    pub ambiguous: bool,
}

#[derive(Default)]
struct DeviceState {
    pairing: Pairing,
    under_way: HashMap<u64, usize>,
    /// (thread, when) of an I/O that came, and the request it belongs to.
    asked: HashMap<(i32, u64), usize>,
    /// Who waits for the next flush, since when.
    flushes: Vec<(usize, u64)>,
}

/// Put together from events in their order.
pub struct Blocks {
    /// Every request that was issued in the window.
    pub all: Vec<Block>,
    /// What was forgotten because too much was in flight.
    pub forgotten: u64,
    targets: Vec<TracedDevice>,
    states: Vec<DeviceState>,
}

impl Blocks {
    /// At these devices.
    #[must_use]
    pub fn new(targets: &[TracedDevice]) -> Self {
        let states = targets
            .iter()
            .map(|t| DeviceState { pairing: Pairing::new(t.by_bio, 0), ..DeviceState::default() });
        let (all, states) = (Vec::new(), states.collect());
        let mut targets = targets.to_vec();
        // To be found by where they lie on the lower device.
        targets.iter_mut().for_each(|t| t.extents.sort_unstable_by_key(|(_, below, _)| *below));
        Self { all, forgotten: 0, states, targets }
    }

    /// The next event, in time.
    pub fn feed(&mut self, event: &Event, calls: &mut Calls) {
        for index in 0..self.targets.len() {
            if self.targets[index].takes(event) {
                self.at(index, event, calls);
            }
        }
    }

    fn at(&mut self, target: usize, event: &Event, calls: &mut Calls) {
        let state = &mut self.states[target];
        if event.kind == Kind::Queue
            && let Some(asker) = calls.asker(event.pid, event.at_ns, deed_of(event.flags.op))
        {
            if state.asked.len() >= MOST {
                self.forgotten += state.asked.len() as u64;
                state.asked.clear();
            }
            state.asked.insert((event.pid, event.at_ns), asker);
            let flush = event.sectors == 0 || event.flags.has(Flags::PREFLUSH);
            if flush && state.flushes.len() < MOST {
                state.flushes.push((asker, event.at_ns));
            }
        }
        match state.pairing.feed(event) {
            Step::Issued(io) => {
                let mut askers: Vec<(usize, u64)> = Vec::new();
                for part in &state.pairing.gathered {
                    // Pieces of one I/O share its time; all but the first to be issued find it here still.
                    if let Some(&asker) = state.asked.get(&(part.pid, part.at_ns)) {
                        askers.push((asker, part.at_ns));
                    }
                }
                if io.sectors == 0 && io.flags.op == Op::Flush {
                    askers.append(&mut state.flushes);
                }
                askers.sort_unstable();
                askers.dedup_by_key(|(asker, _)| *asker);
                let index = self.all.len();
                for (asker, at_ns) in &askers {
                    calls.requests[*asker].blocks.push((index, *at_ns));
                }
                // A flush is no I/O that is gathered: it begins with the first that waits for it.
                let entered = state.pairing.gathered.iter().map(|p| p.at_ns);
                let first = entered.chain(askers.iter().map(|(_, at)| *at)).min();
                self.all.push(Block {
                    target,
                    io,
                    begin_ns: first.unwrap_or(io.issued_ns),
                    askers: askers.len(),
                    upper: None,
                    under: Vec::new(),
                    ambiguous: false,
                });
                if state.under_way.len() >= MOST {
                    self.forgotten += state.under_way.len() as u64;
                    state.under_way.clear();
                }
                state.under_way.insert(io.number, index);
            }
            Step::Done(io) => {
                if let Some(index) = state.under_way.remove(&io.number) {
                    self.all[index].io.done_ns = io.done_ns;
                }
            }
            Step::Other => {}
        }
    }

    /// Find for every request of a lower device the one of the upper device that it carries out.
    pub fn nest(&mut self) {
        for lower in 0..self.targets.len() {
            let above = self.targets[lower].above.clone();
            let Some(upper) = above.and_then(|name| self.targets.iter().position(|t| t.name == name)) else {
                continue;
            };
            if upper == lower {
                continue;
            }
            let uppers: Vec<usize> = (0..self.all.len()).filter(|i| self.all[*i].target == upper).collect();
            for index in (0..self.all.len()).filter(|i| self.all[*i].target == lower).collect::<Vec<_>>() {
                self.nest_one(index, &uppers, lower);
            }
        }
    }

    fn nest_one(&mut self, index: usize, uppers: &[usize], lower: usize) {
        let low = &self.all[index];
        if low.io.done_ns == 0 {
            return;
        }
        // Sorted by their issue, as they were put there.
        let behind = uppers.partition_point(|u| self.all[*u].io.issued_ns <= low.begin_ns);
        let near = &uppers[behind.saturating_sub(LOOK_BACK)..behind];
        let around = |u: &&usize| {
            let up = &self.all[**u].io;
            up.done_ns >= low.io.done_ns && up.flags.op == low.io.flags.op
        };
        let extents = &self.targets[lower].extents;
        let above = place_above(&low.io, extents);
        if above.is_none() && !extents.is_empty() && low.io.sectors > 0 {
            // It lies outside of what carries the upper device.
            return;
        }
        let fits = |u: &&usize| carries(&self.all[**u].io, &low.io, above);
        let found: Vec<usize> = near.iter().filter(around).filter(fits).copied().collect();
        if let [upper] = found[..] {
            self.all[index].upper = Some(upper);
            self.all[upper].under.push(index);
        } else {
            found.iter().for_each(|upper| self.all[*upper].ambiguous = true);
        }
    }
}

/// Where on the upper device a lower request lies; `None` where that is not known.
fn place_above(low: &Io, extents: &[(u64, u64, u64)]) -> Option<u64> {
    let behind = extents.partition_point(|(_, below, _)| *below <= low.sector);
    let (above, below, sectors) = *extents[..behind].last()?;
    let end = low.sector.checked_add(u64::from(low.sectors))?;
    (end <= below.saturating_add(sectors)).then(|| above.saturating_add(low.sector - below))
}

/// Whether a lower request may be a part of an upper one: by its place there where it is known, else by their thread or
/// their length.
fn carries(up: &Io, low: &Io, above: Option<u64>) -> bool {
    if low.sectors == 0 {
        return up.sectors == 0;
    }
    let Some(at) = above else {
        return low.sectors == up.sectors || (low.pid == up.pid && low.sectors <= up.sectors);
    };
    let up_end = up.sector.saturating_add(u64::from(up.sectors));
    up.sector <= at && at.saturating_add(u64::from(low.sectors)) <= up_end
}

fn deed_of(op: Op) -> Deed {
    match op {
        Op::Read => Deed::Read,
        Op::Write => Deed::Write,
        Op::Flush => Deed::Sync,
        Op::Discard | Op::Other => Deed::Other,
    }
}
