//! What a kernel would have recorded, by hand, and what is told of it.

use strata_trace::device::TracedDevice;
use strata_trace::event::{Event, Kind as Block};
use strata_trace::flags::Flags;
use strata_trace::mark::{Call, Mark, What};
use strata_trace::message::{Messages, Spoken, Tagged};
use strata_trace::path::figures::{Group, Waterfall};
use strata_trace::path::thread_names::ThreadNames;
use strata_trace::path::tree::{Kind, Part};
use strata_trace::path::{Traced, waterfall};

pub const UPPER: u32 = 7 << 20;
pub const LOWER: u32 = 8 << 20;
pub const CLIENT: i32 = 10;
pub const SERVER: i32 = 20;
pub const WORKER: i32 = 30;

pub fn block(dev: u32, kind: Block, at_ns: u64, pid: i32, sector: u64) -> Event {
    Event {
        at_ns,
        sector,
        other: 0,
        dev,
        sectors: 8,
        pid,
        error: 0,
        comm: 0,
        kind,
        flags: Flags::parse(b"R"),
    }
}

/// Queued, issued and done by these times.
pub fn whole(dev: u32, pid: i32, sector: u64, times: [u64; 3]) -> Vec<Event> {
    let kinds = [Block::Queue, Block::Issue, Block::Complete];
    kinds.into_iter().zip(times).map(|(kind, at)| block(dev, kind, at, pid, sector)).collect()
}

pub fn mark(at_ns: u64, pid: i32, what: What, a: u64, n: i32) -> Mark {
    Mark { at_ns, a, b: 0, c: 0, n, m: 0, pid, what }
}

pub fn call(pid: i32, call: Call, placed: bool, begin: u64, end: u64) -> [Mark; 2] {
    [mark(begin, pid, What::Enter(call, placed), 0, 0), mark(end, pid, What::Exit, 0, 0)]
}

/// `n` bytes by a call from begin to end, moved at `at`.
pub fn transfer(pid: i32, what: What, socket: u64, n: i32, [begin, at, end]: [u64; 3]) -> Vec<Mark> {
    let kind = if what == What::Sent { Call::Send } else { Call::Receive };
    let [enter, exit] = call(pid, kind, false, begin, end);
    vec![enter, mark(at, pid, what, socket, n), exit]
}

/// A segment at the client's socket (1) or the server's (2).
pub fn arrival(at_ns: u64, socket: u64) -> Mark {
    let (b, c, n) = if socket == 1 { (100, 200, 40000) } else { (200, 100, 445) };
    Mark { at_ns, a: socket, b, c, n, m: 0, pid: 0, what: What::Arrived }
}

pub fn targets() -> Vec<TracedDevice> {
    let one = |name: &str, dev| TracedDevice {
        name: name.into(),
        dev,
        role: "device".into(),
        ..TracedDevice::default()
    };
    vec![one("loop0", UPPER), TracedDevice { above: Some("loop0".into()), ..one("sda", LOWER) }]
}

pub fn fall(events: Vec<Event>, marks: Vec<Mark>, targets: &[TracedDevice]) -> Waterfall {
    fall_of(0, events, marks, targets)
}

/// As `fall`, of one process and what it starts.
pub fn fall_of(follow: i32, events: Vec<Event>, marks: Vec<Mark>, targets: &[TracedDevice]) -> Waterfall {
    fall_with(&Messages::default(), follow, events, marks, targets)
}

/// As `fall_of`, with headers of the wire.
pub fn fall_with(
    messages: &Messages,
    follow: i32,
    mut events: Vec<Event>,
    mut marks: Vec<Mark>,
    targets: &[TracedDevice],
) -> Waterfall {
    events.sort_by_key(|e| e.at_ns);
    marks.sort_by_key(|m| m.at_ns);
    let mut thread_names = ThreadNames::default();
    thread_names.put(CLIENT, CLIENT, "app");
    thread_names.put(SERVER, SERVER, "nbdd");
    thread_names.put(SERVER + 1, SERVER, "nbdd");
    let traced = Traced {
        targets,
        events: &events,
        marks: &marks,
        messages,
        thread_names: &thread_names,
        follow,
        began_ns: 0,
        clock: None,
    };
    waterfall(&traced)
}

/// (kind of the layer, part, ns) of the first group.
pub fn told(fall: &Waterfall) -> Vec<(Kind, Part, u64)> {
    let group: &Group = &fall.groups[0];
    let parts =
        group.layers.iter().flat_map(|l| l.parts.iter().map(move |p| (l.layer, p.part, p.mean_ns as u64)));
    parts.map(|(layer, part, ns)| (fall.layers[layer].kind, part, ns)).collect()
}

/// One question from 100 on, with the server's read of a device between; the answer is there at 1 300.
pub fn exchange(shift: u64) -> (Vec<Mark>, Vec<Event>) {
    let t = |at: u64| at + shift;
    let mut marks = transfer(CLIENT, What::Sent, 1, 28, [t(100), t(105), t(110)]);
    marks.push(arrival(t(200), 2));
    marks.extend(transfer(SERVER, What::Received, 2, 28, [t(50), t(250), t(255)]));
    marks.extend(call(SERVER, Call::Read, true, t(300), t(1000)));
    marks.extend(transfer(SERVER, What::Sent, 2, 4096, [t(1100), t(1150), t(1160)]));
    marks.push(arrival(t(1300), 1));
    marks.extend(transfer(CLIENT, What::Received, 1, 4096, [t(1350), t(1390), t(1400)]));
    (marks, whole(UPPER, SERVER, 0, [t(310), t(350), t(950)]))
}

/// Two questions that are sent before any reply, in two calls, and answered in two.
pub fn two_at_once() -> (Vec<Mark>, Vec<Event>) {
    let marks = [
        transfer(CLIENT, What::Sent, 1, 28, [100, 105, 110]),
        transfer(CLIENT, What::Sent, 1, 28, [120, 125, 130]),
        vec![Mark { m: 28, ..arrival(200, 2) }, Mark { m: 28, ..arrival(220, 2) }],
        transfer(SERVER, What::Received, 2, 28, [50, 250, 255]),
        transfer(SERVER + 1, What::Received, 2, 28, [256, 260, 265]),
        call(SERVER, Call::Read, true, 300, 1000).to_vec(),
        call(SERVER + 1, Call::Read, true, 310, 700).to_vec(),
        // The second is answered first.
        transfer(SERVER + 1, What::Sent, 2, 4112, [750, 760, 770]),
        transfer(SERVER, What::Sent, 2, 4112, [1100, 1150, 1160]),
        vec![Mark { m: 4112, ..arrival(900, 1) }, Mark { m: 4112, ..arrival(1300, 1) }],
        transfer(CLIENT, What::Received, 1, 4112, [140, 950, 960]),
        transfer(CLIENT, What::Received, 1, 4112, [970, 1390, 1400]),
    ];
    let mut events = whole(UPPER, SERVER, 0, [310, 350, 950]);
    events.extend(whole(UPPER, SERVER + 1, 64, [320, 360, 650]));
    (marks.concat(), events)
}

/// What the headers of `two_at_once` said.
pub fn tags(swapped: bool) -> Messages {
    let one = Tagged { client: 100, server: 200, asked: (0, 28), answered: (0, 4112), deed: 1 };
    let (asked, answered) = ([(0, 28), (28, 56)], [(4112, 8224), (0, 4112)]);
    let pairs = (0..2).map(|n| Tagged {
        asked: asked[n],
        answered: answered[if swapped { 1 - n } else { n }],
        ..one
    });
    let spoken = Spoken { client: 100, server: 200, unmatched: 5, waiting: 1 };
    Messages { pairs: pairs.collect(), spoken: vec![spoken], again: Vec::new() }
}

/// Both ends of the connection from its beginning.
pub fn opened() -> [Mark; 2] {
    [(1, 1), (2, 0)].map(|(socket, m)| Mark { m, what: What::Opened, ..arrival(10, socket) })
}
