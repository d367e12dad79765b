//! All requests of a window in figures, some of them whole, and what could not be followed.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use strata_hist::Histogram;

use crate::side::{Times, times};

use super::Traced;
use super::blocks::Blocks;
use super::calls::{Calls, Deed, SubmittedBy};
use super::clocks::ClockFigures;
use super::join::is_second;
use super::tree::{Kind, Layer, Node, Part, Segment, Tree};
use super::wire::{Exchange, Omitted};

/// Requests that are kept whole: so many, evenly over the window, and the slowest.
const KEPT: usize = 256;
const SLOWEST: usize = 16;

/// What is known beside the requests.
pub struct Known {
    /// The threads that are followed; empty: everybody's.
    pub ours: HashSet<i32>,
    /// Requests that a server made for somebody.
    pub nested: HashSet<usize>,
    /// Exchanges that were not told, by the client.
    pub omitted: HashMap<i32, Omitted>,
}

/// What was seen and could not be followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Something below may belong to another request as well.
    pub ambiguous: u64,
    /// The same below a server: they are in groups of their own, whose server is told as one.
    pub undivided: u64,
    /// Questions over a connection whose answer came after the next question began.
    pub overlapping: u64,
    /// Questions and replies whose headers were read, and which found no other half.
    pub unmatched: u64,
    /// Exchanges without an arrival, or whose times contradict each other.
    pub inconsistent: u64,
    /// Requests of io_uring that a worker of the kernel carried out.
    pub handed_over: u64,
    /// Not over when the window ended.
    pub under_way: u64,
    /// Requests that were answered above the devices (page cache, other devices).
    pub above_devices: u64,
    /// Requests at the uppermost devices that no system call asked for: write-back, journals, reading ahead.
    pub by_kernel: u64,
    /// Forgotten because too much was under way.
    pub forgotten: u64,
}

/// A part of a layer. The mean is over all requests of the group, so means add up to the mean of the whole.
#[derive(Clone, Debug, Serialize)]
pub struct PartFigures {
    /// Which.
    pub part: Part,
    /// See above.
    pub mean_ns: f64,
    /// By how much the mean may be off because two clocks run at different rates; 0 on one clock.
    pub unknown_ns: f64,
    /// Of the requests that spent time there.
    pub times: Times,
}

/// A layer of a group.
#[derive(Clone, Debug, Serialize)]
pub struct LayerFigures {
    /// In [`Waterfall::layers`].
    pub layer: usize,
    /// Its parts.
    pub parts: Vec<PartFigures>,
}

/// Requests of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// How they are made.
    pub way: SubmittedBy,
    /// What they ask.
    pub deed: Deed,
    /// What their server did below itself may belong to others, so it is told as one.
    pub undivided: bool,
    /// From their beginning to their end.
    pub total: Times,
    /// Upper before lower.
    pub layers: Vec<LayerFigures>,
}

/// One request, whole.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Its group.
    pub group: usize,
    /// From the beginning of the window.
    pub at_ns: u64,
    /// How long it took.
    pub ns: u64,
    /// Who made it.
    pub tid: i32,
    /// His name.
    pub comm: String,
    /// One of the slowest.
    pub slow: bool,
    /// (layer, part, from the request's beginning, how long).
    pub segments: Vec<(usize, Part, u64, u64)>,
}

/// What [`super::waterfall`] gives.
#[derive(Clone, Debug, Serialize)]
pub struct Waterfall {
    /// Every layer.
    pub layers: Vec<Layer>,
    /// The groups, the one with the most time first.
    pub groups: Vec<Group>,
    /// Some requests, in time.
    pub samples: Vec<Sample>,
    /// What is not in the groups.
    pub missing: Missing,
    /// Events beside the block layer's.
    pub marks: u64,
    /// How the server's clock stands to the client's, where they are two.
    pub clock: Option<Clocks>,
}

/// Two clocks, and the time on the wire in each direction, which they leave open by their bound.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Clocks {
    /// The server's.
    #[serde(flatten)]
    pub figures: ClockFigures,
    /// Exchanges between both machines.
    pub exchanges: u64,
    /// Mean time on the wire to the server; give or take the bound.
    pub there_ns: f64,
    /// And back; what one direction has more, the other has less.
    pub back_ns: f64,
}

/// What the clocks leave open in each part: those of the server's machine run on its clock, and what they have more, the
/// wire has less.
fn leave_open(groups: &mut [Group], layers: &[Layer], rate_bound_ppm: f64) {
    for group in groups.iter_mut().filter(|g| g.way == SubmittedBy::Exchange) {
        let mut sum = 0.0;
        let theirs =
            |l: &LayerFigures| !matches!(layers[l.layer].kind, Kind::Client | Kind::Wire | Kind::Far);
        for layer in group.layers.iter_mut().filter(|l| theirs(l)) {
            for part in &mut layer.parts {
                part.unknown_ns = part.mean_ns * rate_bound_ppm / 1e6;
                sum += part.unknown_ns;
            }
        }
        let wires = group.layers.iter_mut().filter(|l| layers[l.layer].kind == Kind::Wire);
        wires.flat_map(|l| &mut l.parts).for_each(|part| part.unknown_ns = sum);
    }
}

fn clocks(traced: &Traced<'_>, exchanges: &[Exchange]) -> Option<Clocks> {
    let clock = traced.clock?;
    let (mut there, mut back, mut count) = (0.0, 0.0, 0);
    for e in
        exchanges.iter().filter(|e| e.server.is_some_and(|(tid, _)| is_second(tid)) && !is_second(e.client))
    {
        there += (e.arrived_ns - e.asked_ns) as f64;
        back += (e.returned_ns - e.answered_ns) as f64;
        count += 1;
    }
    let mean = |sum: f64| if count == 0 { 0.0 } else { sum / count as f64 };
    Some(Clocks { figures: clock.figures(), exchanges: count, there_ns: mean(there), back_ns: mean(back) })
}

#[derive(Default)]
struct Sums {
    total: Histogram,
    total_ns: u128,
    parts: BTreeMap<(usize, Part), (Histogram, u128)>,
}

/// Keeps every n-th, and the slowest.
#[derive(Default)]
struct Keeper {
    even: Vec<Sample>,
    slow: Vec<Sample>,
    seen: u64,
    step: u64,
}

impl Keeper {
    fn keep(&mut self, sample: impl FnOnce() -> Sample, ns: u64) {
        self.step = self.step.max(1);
        let even = self.seen.is_multiple_of(self.step);
        self.seen += 1;
        let slow = self.slow.len() < SLOWEST || self.slow.last().is_some_and(|s| s.ns < ns);
        if !even && !slow {
            return;
        }
        let sample = sample();
        if slow {
            self.slow.push(Sample { slow: true, ..sample.clone() });
            self.slow.sort_by_key(|s| (std::cmp::Reverse(s.ns), s.at_ns));
            self.slow.truncate(SLOWEST);
        }
        if even {
            self.even.push(sample);
            if self.even.len() >= 2 * KEPT {
                let mut odd = false;
                self.even.retain(|_| {
                    odd = !odd;
                    odd
                });
                self.step *= 2;
            }
        }
    }

    fn samples(self) -> Vec<Sample> {
        let name = |s: &Sample| (s.at_ns, s.tid, s.ns);
        let slow: HashSet<_> = self.slow.iter().map(name).collect();
        let mut all = self.slow;
        all.extend(self.even.into_iter().filter(|s| !slow.contains(&name(s))));
        all.sort_by_key(|s| s.at_ns);
        all
    }
}

/// Sum up.
#[must_use]
pub fn sum(
    traced: &Traced<'_>,
    calls: &Calls,
    blocks: &Blocks,
    exchanges: &[Exchange],
    known: &Known,
) -> Waterfall {
    let mut missing = Missing { forgotten: blocks.forgotten, ..Missing::default() };
    let roots = roots(traced, calls, blocks, exchanges, known, &mut missing);
    let mut tree = Tree::new(calls, blocks, exchanges, traced.thread_names, traced.targets);
    let (mut groups, mut order): (Vec<Sums>, Vec<Key>) = (Vec::new(), Vec::new());
    let mut keeper = Keeper::default();
    for (node, tid, (begin, end)) in roots {
        let Some(segments) = tree.segments(node) else {
            missing.ambiguous += 1;
            continue;
        };
        let key = kind_of(node, calls, exchanges);
        missing.undivided += u64::from(key.2);
        let group = order.iter().position(|k| *k == key).unwrap_or_else(|| {
            order.push(key);
            groups.push(Sums::default());
            order.len() - 1
        });
        let ns = end - begin;
        add(&mut groups[group], ns, &segments);
        let sample = || Sample {
            group,
            at_ns: begin.saturating_sub(traced.began_ns),
            ns,
            tid,
            comm: traced.thread_names.name(tid).to_owned(),
            slow: false,
            segments: segments
                .iter()
                .map(|s| (s.layer, s.part, s.begin_ns - begin, s.end_ns - s.begin_ns))
                .collect(),
        };
        keeper.keep(sample, ns);
    }
    let mut ranked: Vec<usize> = (0..groups.len()).collect();
    ranked.sort_by_key(|g| std::cmp::Reverse(groups[*g].total_ns));
    let mut samples = keeper.samples();
    for sample in &mut samples {
        sample.group = ranked.iter().position(|g| *g == sample.group).unwrap_or(0);
    }
    let told = ranked.iter().filter_map(|g| figures(order[*g], &groups[*g], &tree.layers));
    let mut told: Vec<Group> = told.collect();
    let clock = clocks(traced, exchanges);
    if let Some(clock) = &clock {
        leave_open(&mut told, &tree.layers, clock.figures.rate_bound_ppm);
    }
    Waterfall { layers: tree.layers, groups: told, samples, missing, marks: traced.marks.len() as u64, clock }
}

fn add(sums: &mut Sums, ns: u64, segments: &[Segment]) {
    sums.total.record(ns);
    sums.total_ns += u128::from(ns);
    let mut each: BTreeMap<(usize, Part), u64> = BTreeMap::new();
    for s in segments {
        *each.entry((s.layer, s.part)).or_default() += s.end_ns - s.begin_ns;
    }
    for (key, ns) in each {
        let (histogram, total) = sums.parts.entry(key).or_default();
        histogram.record(ns);
        *total += u128::from(ns);
    }
}

fn figures((way, deed, undivided): Key, sums: &Sums, layers: &[Layer]) -> Option<Group> {
    let total = times(&sums.total)?;
    let mut found: Vec<LayerFigures> = Vec::new();
    for (&(layer, part), (histogram, ns)) in &sums.parts {
        let Some(times) = times(histogram) else { continue };
        let figure = PartFigures { part, mean_ns: *ns as f64 / total.count as f64, unknown_ns: 0.0, times };
        match found.iter_mut().find(|l| l.layer == layer) {
            Some(known) => known.parts.push(figure),
            None => found.push(LayerFigures { layer, parts: vec![figure] }),
        }
    }
    found.sort_by_key(|l| (layers[l.layer].depth, l.layer));
    Some(Group { way, deed, undivided, total, layers: found })
}

/// What is in one group: made in one way, for the same, and with the server undivided or not.
type Key = (SubmittedBy, Deed, bool);

fn kind_of(node: Node, calls: &Calls, exchanges: &[Exchange]) -> Key {
    match node {
        Node::Request(index) => (calls.requests[index].way, calls.requests[index].deed, false),
        Node::Exchange(index) => {
            (SubmittedBy::Exchange, deed_of(index, calls, exchanges, 0), exchanges[index].ambiguous)
        }
        Node::Block(_) => (SubmittedBy::Call, Deed::Other, false),
    }
}

/// What a server was asked to do, by what it did.
fn deed_of(index: usize, calls: &Calls, exchanges: &[Exchange], deep: usize) -> Deed {
    let exchange = &exchanges[index];
    if let Some(deed) = exchange.deed {
        return deed;
    }
    let own = exchange.requests.first().map(|r| calls.requests[*r].deed);
    let other =
        || exchange.exchanges.first().filter(|_| deep < 16).map(|e| deed_of(*e, calls, exchanges, deep + 1));
    own.or_else(other).unwrap_or(Deed::Other)
}

type Root = (Node, i32, (u64, u64));

fn roots(
    traced: &Traced<'_>,
    calls: &Calls,
    blocks: &Blocks,
    exchanges: &[Exchange],
    known: &Known,
    missing: &mut Missing,
) -> Vec<Root> {
    let ours = |tid: i32| known.ours.is_empty() || known.ours.contains(&tid);
    let mut found: Vec<Root> = Vec::new();
    let top = |block: usize| traced.targets[blocks.all[block].target].above.is_none();
    for (index, request) in calls.requests.iter().enumerate() {
        if known.nested.contains(&index) || !ours(request.tid) {
            continue;
        }
        let reached = request.blocks.iter().any(|(b, _)| top(*b));
        if !reached {
            missing.above_devices += u64::from(request.placed && !known.ours.is_empty() && !request.handed);
            missing.handed_over += u64::from(request.handed && !known.ours.is_empty());
        } else if request.end_ns == 0 {
            missing.under_way += 1;
        } else if request.handed {
            missing.handed_over += 1;
        } else {
            found.push((Node::Request(index), request.tid, (request.begin_ns, request.over_ns())));
        }
    }
    let mut clients = HashSet::new();
    for (index, exchange) in exchanges.iter().enumerate() {
        let reaches = || reaches(index, calls, exchanges, &top, 0);
        let wanted = if known.ours.is_empty() { reaches() } else { ours(exchange.client) };
        if exchange.nested || !wanted {
            continue;
        }
        clients.insert(exchange.client);
        found.push((Node::Exchange(index), exchange.client, (exchange.asked_ns, exchange.taken_ns)));
    }
    for (client, omitted) in &known.omitted {
        let wanted = if known.ours.is_empty() { clients.contains(client) } else { ours(*client) };
        if wanted {
            missing.overlapping += omitted.overlapping;
            missing.inconsistent += omitted.inconsistent;
            missing.unmatched += omitted.unmatched;
            missing.under_way += omitted.waiting;
        }
    }
    let alone = |b: &&super::blocks::Block| {
        b.askers == 0 && b.upper.is_none() && traced.targets[b.target].above.is_none()
    };
    missing.by_kernel = blocks.all.iter().filter(alone).count() as u64;
    found.sort_by_key(|(_, _, (begin, _))| *begin);
    found
}

/// Whether what a server did for it reached an uppermost device.
fn reaches(
    index: usize,
    calls: &Calls,
    exchanges: &[Exchange],
    top: &impl Fn(usize) -> bool,
    deep: usize,
) -> bool {
    let exchange = &exchanges[index];
    exchange.ambiguous
        || exchange.requests.iter().any(|r| calls.requests[*r].blocks.iter().any(|(b, _)| top(*b)))
        || (deep < 16 && exchange.exchanges.iter().any(|e| reaches(*e, calls, exchanges, top, deep + 1)))
}
