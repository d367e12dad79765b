//! From a request to the layers its time was spent in: each moment belongs to one, the lowest that it waited for.
//!
//! Where several things below a request go on at once, the one that ends last counts, and before it began the one that
//! ended last until then: the critical path. So the segments of a request follow each other without a gap.

use std::collections::HashMap;

use serde::Serialize;

use crate::device::TracedDevice;

use super::blocks::Blocks;
use super::calls::Calls;
use super::thread_names::ThreadNames;
use super::wire::Exchange;

/// Things below one request; more are not told apart.
const CHILDREN: usize = 1024;
const DEEPEST: usize = 24;

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Who asks, after the answer is there.
    Client,
    /// Both network stacks and what lies between.
    Wire,
    /// The wire and a server on another machine, which cannot be told apart from here.
    Far,
    /// Who answers.
    Server,
    /// The system call: the kernel above the block layer, with the file system.
    Call,
    /// A device with its queue.
    Device,
}

/// What is done with the time there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It waits to be taken up.
    Queue,
    /// The layer itself works, and hands nothing to the one below.
    Own,
    /// The lowest layer works.
    Service,
}

/// A layer of the way. `of`: the program whose it is, for what lies behind a wire.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Layer {
    /// What it is.
    pub kind: Kind,
    /// The device's name, or nothing.
    pub name: String,
    /// See above.
    pub of: String,
    /// How many layers are above it.
    pub depth: usize,
}

/// A stretch of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// In [`Tree::layers`].
    pub layer: usize,
    /// What is done.
    pub part: Part,
    /// From …
    pub begin_ns: u64,
    /// … to.
    pub end_ns: u64,
}

/// What a request consists of.
#[derive(Clone, Copy, Debug)]
pub enum Node {
    /// A request of an application.
    Request(usize),
    /// One at a device.
    Block(usize),
    /// A question over a connection.
    Exchange(usize),
}

/// Everything that was put together.
pub struct Tree<'a> {
    /// Requests.
    pub calls: &'a Calls,
    /// At the devices.
    pub blocks: &'a Blocks,
    /// Over connections.
    pub exchanges: &'a [Exchange],
    /// Names.
    pub thread_names: &'a ThreadNames,
    /// The devices.
    pub targets: &'a [TracedDevice],
    /// Layers that were met.
    pub layers: Vec<Layer>,
    index: HashMap<Layer, usize>,
}

type Child = (u64, u64, Node);

impl<'a> Tree<'a> {
    /// Without a layer yet.
    #[must_use]
    pub fn new(
        calls: &'a Calls,
        blocks: &'a Blocks,
        exchanges: &'a [Exchange],
        thread_names: &'a ThreadNames,
        targets: &'a [TracedDevice],
    ) -> Self {
        Self { calls, blocks, exchanges, thread_names, targets, layers: Vec::new(), index: HashMap::new() }
    }

    /// The segments of a whole request, in time; `None` where something in it may belong to another, or has too many
    /// parts.
    pub fn segments(&mut self, node: Node) -> Option<Vec<Segment>> {
        let mut found = self.walk(node, 0, "")?;
        found.sort_by_key(|s| s.begin_ns);
        found.dedup_by(|next, last| {
            let same = (next.layer, next.part) == (last.layer, last.part) && next.begin_ns == last.end_ns;
            if same {
                last.end_ns = next.end_ns;
            }
            same
        });
        Some(found)
    }

    fn walk(&mut self, node: Node, depth: usize, of: &str) -> Option<Vec<Segment>> {
        if depth > DEEPEST {
            return None;
        }
        match node {
            Node::Request(index) => self.request(index, depth, of),
            Node::Block(index) => self.block(index, depth),
            Node::Exchange(index) => self.exchange(index, depth, of),
        }
    }

    fn layer(&mut self, kind: Kind, name: &str, of: &str, depth: usize) -> usize {
        let layer = Layer { kind, name: name.to_owned(), of: of.to_owned(), depth };
        if let Some(&known) = self.index.get(&layer) {
            return known;
        }
        self.layers.push(layer.clone());
        self.index.insert(layer, self.layers.len() - 1);
        self.layers.len() - 1
    }

    fn request(&mut self, index: usize, depth: usize, of: &str) -> Option<Vec<Segment>> {
        let request = &self.calls.requests[index];
        let (begin, end, over) = (request.begin_ns, request.end_ns, request.over_ns());
        let child = |(block, at): &(usize, u64)| {
            let found = &self.blocks.all[*block];
            let done = found.io.done_ns;
            // What goes on behind the request's end (reading ahead) was not waited for.
            (found.upper.is_none() && done > 0 && done <= end).then_some((*at, done, Node::Block(*block)))
        };
        let children: Vec<Child> = request.blocks.iter().filter_map(child).collect();
        let layer = self.layer(Kind::Call, "", of, depth + 1);
        let mut found = self.critical((begin, end), (layer, Part::Own), children, depth + 2, of)?;
        if over > end {
            let layer = self.layer(Kind::Client, "", of, depth);
            found.push(Segment { layer, part: Part::Own, begin_ns: end, end_ns: over });
        }
        Some(found)
    }

    fn block(&mut self, index: usize, depth: usize) -> Option<Vec<Segment>> {
        let block = &self.blocks.all[index];
        if block.ambiguous {
            return None;
        }
        let target = &self.targets[block.target];
        let (begin, issued, done) = (block.begin_ns, block.io.issued_ns, block.io.done_ns);
        let below = self.targets.iter().any(|t| t.above.as_ref() == Some(&target.name));
        let children = block.under.iter().map(|u| {
            let under = &self.blocks.all[*u];
            (under.begin_ns, under.io.done_ns, Node::Block(*u))
        });
        let children: Vec<Child> = children.collect();
        let name = target.name.clone();
        let layer = self.layer(Kind::Device, &name, "", depth);
        let own = (layer, if below { Part::Own } else { Part::Service });
        let mut found = self.critical((issued, done), own, children, depth + 1, "")?;
        if issued > begin {
            found.push(Segment { layer, part: Part::Queue, begin_ns: begin, end_ns: issued });
        }
        Some(found)
    }

    fn exchange(&mut self, index: usize, depth: usize, of: &str) -> Option<Vec<Segment>> {
        let exchange = &self.exchanges[index];
        let client = self.layer(Kind::Client, "", of, depth);
        let taken = Segment {
            layer: client,
            part: Part::Own,
            begin_ns: exchange.returned_ns,
            end_ns: exchange.taken_ns,
        };
        let mut found = vec![taken];
        let Some((heard_by, _)) = exchange.server else {
            let layer = self.layer(Kind::Far, "", "", depth + 1);
            let (begin_ns, end_ns) = (exchange.asked_ns, exchange.returned_ns);
            found.push(Segment { layer, part: Part::Service, begin_ns, end_ns });
            found.retain(|s| s.end_ns > s.begin_ns);
            return Some(found);
        };
        let of = self.thread_names.name(self.thread_names.group(heard_by)).to_owned();
        let requests = exchange.requests.iter().map(|r| {
            let request = &self.calls.requests[*r];
            (request.begin_ns, request.over_ns(), Node::Request(*r))
        });
        let others = exchange.exchanges.iter().map(|e| {
            let other = &self.exchanges[*e];
            (other.asked_ns, other.taken_ns, Node::Exchange(*e))
        });
        // What may belong to another turn is in none; then the server is the lowest layer that can be told.
        let undivided = exchange.ambiguous;
        let children: Vec<Child> = requests.chain(others).filter(|_| !undivided).collect();
        let own = if undivided { Part::Service } else { Part::Own };
        let wire = self.layer(Kind::Wire, "", &of, depth + 1);
        let server = self.layer(Kind::Server, "", &of, depth + 2);
        let work = (exchange.heard_ns, exchange.answered_ns);
        found.extend(self.critical(work, (server, own), children, depth + 3, &of)?);
        for (layer, part, begin_ns, end_ns) in [
            (wire, Part::Own, exchange.asked_ns, exchange.arrived_ns),
            (server, Part::Queue, exchange.arrived_ns, exchange.heard_ns),
            (wire, Part::Own, exchange.answered_ns, exchange.returned_ns),
        ] {
            found.push(Segment { layer, part, begin_ns, end_ns });
        }
        found.retain(|s| s.end_ns > s.begin_ns);
        Some(found)
    }

    /// From the end backward: what is not a child's is the layer's own.
    fn critical(
        &mut self,
        (from, to): (u64, u64),
        (layer, part): (usize, Part),
        mut children: Vec<Child>,
        depth: usize,
        of: &str,
    ) -> Option<Vec<Segment>> {
        if children.len() > CHILDREN {
            return None;
        }
        let (mut found, mut cursor) = (Vec::new(), to);
        loop {
            let last = children.iter().enumerate().filter(|(_, c)| c.0 < cursor);
            let Some((place, _)) = last.max_by_key(|(_, c)| (c.1.min(cursor), c.0)) else { break };
            let (begin, end, node) = children.swap_remove(place);
            let (begin, end) = (begin.max(from), end.min(cursor));
            if begin >= end {
                continue;
            }
            if end < cursor {
                found.push(Segment { layer, part, begin_ns: end, end_ns: cursor });
            }
            for mut inner in self.walk(node, depth, of)? {
                (inner.begin_ns, inner.end_ns) = (inner.begin_ns.max(begin), inner.end_ns.min(end));
                if inner.begin_ns < inner.end_ns {
                    found.push(inner);
                }
            }
            cursor = begin;
        }
        if from < cursor {
            found.push(Segment { layer, part, begin_ns: from, end_ns: cursor });
        }
        Some(found)
    }
}
