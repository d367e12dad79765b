//! A trace in a file: a line that says what it is, a description in JSON, and the events, 44 bytes each, little-endian.
//! With a waterfall also what that is made of: its marks, 48 bytes each, and questions with their replies, 56 each.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::device::TracedDevice;
use crate::event::{Event, Kind, Names};
use crate::flags::{Flags, Op};
use crate::mark::{Call, Mark, What};
use crate::message::{Again, Messages, Spoken, Tagged};
use crate::path::thread_names::ThreadNames;
use crate::summary::Source;

const MAGIC: &[u8] = b"strata-trace 1\n";
const RECORD: usize = 44;
const MARK: usize = 48;
const PAIR: usize = 56;
/// No time in ns is as long, and no connection carries as many bytes: sums of what a file says stay far from what a number
/// can hold.
const MOST_NS: u64 = 1 << 60;
const MOST_BYTES: u64 = 1 << 56;
/// So often nothing happens that is counted in one line of a description.
const MOST_COUNT: u64 = 1 << 36;
/// Longer descriptions and files with more events than this are not ours.
const MOST_HEAD: u32 = 1 << 26;

#[derive(Serialize, Deserialize)]
struct Head {
    targets: Vec<TracedDevice>,
    names: Vec<String>,
    window_ns: Option<(u64, u64)>,
    whole: bool,
    events: u64,
    /// What the recording said about itself.
    recording: serde_json::Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<PathHead>,
}

#[derive(Serialize, Deserialize)]
struct PathHead {
    marks: u64,
    pairs: u64,
    spoken: Vec<Spoken>,
    again: Vec<Again>,
    thread_names: ThreadNames,
    follow: i32,
    /// Of each device.
    extents: Vec<Vec<(u64, u64, u64)>>,
}

/// What a waterfall is made of beside the events of the block layer.
#[derive(Clone, Debug, Default)]
pub struct PathRecord {
    /// In time.
    pub marks: Vec<Mark>,
    /// Questions and replies.
    pub messages: Messages,
    /// Who the threads are.
    pub thread_names: ThreadNames,
    /// A process that is followed, or 0.
    pub follow: i32,
}

/// Everything that is in a file.
pub struct Saved {
    /// The block layer.
    pub source: Source,
    /// Of a waterfall.
    pub way: Option<PathRecord>,
    /// What the recording said about itself.
    pub recording: serde_json::Value,
}

/// Whether the first bytes of a file are ours.
#[must_use]
pub fn is_ours(begin: &[u8]) -> bool {
    begin.starts_with(MAGIC)
}

/// Write a trace with what its recording said.
///
/// # Errors
/// Of the writer.
pub fn write(
    to: &mut impl Write,
    source: &Source,
    way: Option<&PathRecord>,
    recording: &serde_json::Value,
) -> io::Result<()> {
    let head = Head {
        targets: source.targets.clone(),
        names: source.names.all().to_vec(),
        window_ns: source.window_ns,
        whole: source.whole,
        events: source.events.len() as u64,
        recording: recording.clone(),
        path: way.map(|way| PathHead {
            marks: way.marks.len() as u64,
            pairs: way.messages.pairs.len() as u64,
            spoken: way.messages.spoken.clone(),
            again: way.messages.again.clone(),
            thread_names: way.thread_names.clone(),
            follow: way.follow,
            extents: source.targets.iter().map(|t| t.extents.clone()).collect(),
        }),
    };
    let head = serde_json::to_vec(&head)?;
    to.write_all(MAGIC)?;
    to.write_all(&(head.len() as u32).to_le_bytes())?;
    to.write_all(&head)?;
    for event in &source.events {
        to.write_all(&record(event))?;
    }
    for mark in way.iter().flat_map(|w| &w.marks) {
        to.write_all(&mark_record(mark))?;
    }
    for pair in way.iter().flat_map(|w| &w.messages.pairs) {
        to.write_all(&pair_record(pair))?;
    }
    to.flush()
}

/// Read what [`write`] wrote.
///
/// # Errors
/// `InvalidData` for what is not ours or was cut short.
pub fn read(from: &mut impl Read) -> io::Result<Saved> {
    let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut magic = [0; MAGIC.len()];
    from.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Err(bad("not a saved trace"));
    }
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MOST_HEAD {
        return Err(bad("its header is too long"));
    }
    let mut text = Vec::new();
    from.by_ref().take(u64::from(length)).read_to_end(&mut text)?;
    let mut head: Head = serde_json::from_slice(&text)?;
    let mut names = Names::default();
    for name in head.names.iter().skip(1) {
        names.number(name.as_bytes());
    }
    let mut events = Vec::new();
    let mut bytes = [0; RECORD];
    for _ in 0..head.events {
        from.read_exact(&mut bytes).map_err(|_| bad("it was cut short: events are missing at its end"))?;
        events.push(event(&bytes).ok_or_else(|| bad("an event of an unknown type"))?);
    }
    let way = match head.path {
        None => None,
        Some(path) => {
            let mut way =
                PathRecord { thread_names: path.thread_names, follow: path.follow, ..PathRecord::default() };
            way.messages.spoken = path.spoken;
            way.messages.again = path.again;
            for (target, extents) in head.targets.iter_mut().zip(path.extents) {
                target.extents = extents;
            }
            let mut bytes = [0; MARK];
            for _ in 0..path.marks {
                from.read_exact(&mut bytes)
                    .map_err(|_| bad("it was cut short: marks are missing at its end"))?;
                way.marks.push(mark_of(&bytes).ok_or_else(|| bad("a mark of an unknown type"))?);
            }
            let mut bytes = [0; PAIR];
            for _ in 0..path.pairs {
                from.read_exact(&mut bytes)
                    .map_err(|_| bad("it was cut short: questions are missing at its end"))?;
                way.messages.pairs.push(pair_of(&bytes));
            }
            Some(way)
        }
    };
    let source =
        Source { targets: head.targets, events, names, window_ns: head.window_ns, whole: head.whole };
    if !within(&source, way.as_ref()) {
        return Err(bad("it states a time, a place or a count that no trace has"));
    }
    Ok(Saved { source, way, recording: head.recording })
}

/// Whether every number is one that a recording can have.
fn within(source: &Source, way: Option<&PathRecord>) -> bool {
    let (begin, end) = source.window_ns.unwrap_or_default();
    let extents = source.targets.iter().flat_map(|t| &t.extents);
    let messages = way.map(|w| &w.messages);
    begin <= end
        && end < MOST_NS
        && source.events.iter().all(|e| e.at_ns < MOST_NS)
        && extents.flat_map(|(there, here, many)| [there, here, many]).all(|n| *n < MOST_BYTES)
        && way.is_none_or(|w| w.marks.iter().all(|m| m.at_ns < MOST_NS))
        && messages.is_none_or(|m| {
            let places = m.pairs.iter().flat_map(|p| [p.asked, p.answered]);
            places.clone().all(|(from, to)| from <= to && to < MOST_BYTES)
                && m.spoken.iter().flat_map(|s| [s.unmatched, s.waiting]).all(|n| n < MOST_COUNT)
                && m.again.iter().all(|a| a.at < MOST_BYTES && a.bytes.unsigned_abs() < MOST_COUNT)
        })
}

/// Little-endian numbers one behind the other.
struct Put<const N: usize>([u8; N], usize);

impl<const N: usize> Put<N> {
    fn put(mut self, part: &[u8]) -> Self {
        self.0[self.1..self.1 + part.len()].copy_from_slice(part);
        self.1 += part.len();
        self
    }
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|n| bytes[at + n]))
}

fn short(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|n| bytes[at + n]))
}

const CALLS: [Call; 8] =
    [Call::Read, Call::Write, Call::Sync, Call::Receive, Call::Send, Call::Ring, Call::Submit, Call::Reap];
/// By their numbers in a file; the first is an entrance, whose call and kind follow.
const WHATS: [What; 11] = [
    What::Enter(Call::Read, false),
    What::Exit,
    What::Taken,
    What::Handed,
    What::Done,
    What::Sent,
    What::Received,
    What::Arrived,
    What::Opened,
    What::Gone,
    What::Forked,
];

fn mark_record(mark: &Mark) -> [u8; MARK] {
    let numbers = match mark.what {
        What::Enter(call, placed) => {
            [0, CALLS.iter().position(|c| *c == call).unwrap_or(0) as u8, u8::from(placed), 0]
        }
        other => [WHATS.iter().position(|w| *w == other).unwrap_or(0) as u8, 0, 0, 0],
    };
    Put([0; MARK], 0)
        .put(&mark.at_ns.to_le_bytes())
        .put(&mark.a.to_le_bytes())
        .put(&mark.b.to_le_bytes())
        .put(&mark.c.to_le_bytes())
        .put(&mark.n.to_le_bytes())
        .put(&mark.m.to_le_bytes())
        .put(&mark.pid.to_le_bytes())
        .put(&numbers)
        .0
}

fn mark_of(bytes: &[u8; MARK]) -> Option<Mark> {
    let what = match *WHATS.get(usize::from(bytes[44]))? {
        What::Enter(..) => What::Enter(*CALLS.get(usize::from(bytes[45]))?, bytes[46] != 0),
        other => other,
    };
    Some(Mark {
        at_ns: long(bytes, 0),
        a: long(bytes, 8),
        b: long(bytes, 16),
        c: long(bytes, 24),
        n: short(bytes, 32) as i32,
        m: short(bytes, 36),
        pid: short(bytes, 40) as i32,
        what,
    })
}

fn pair_record(pair: &Tagged) -> [u8; PAIR] {
    let numbers = [
        pair.client,
        pair.server,
        pair.asked.0,
        pair.asked.1,
        pair.answered.0,
        pair.answered.1,
        pair.deed.into(),
    ];
    numbers.iter().fold(Put([0; PAIR], 0), |put, n: &u64| put.put(&n.to_le_bytes())).0
}

fn pair_of(bytes: &[u8; PAIR]) -> Tagged {
    let n = |place: usize| long(bytes, 8 * place);
    Tagged {
        client: n(0),
        server: n(1),
        asked: (n(2), n(3)),
        answered: (n(4), n(5)),
        deed: u8::try_from(n(6)).unwrap_or(0),
    }
}

fn record(event: &Event) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    let mut at = 0;
    let mut put = |part: &[u8]| {
        bytes[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    };
    put(&event.at_ns.to_le_bytes());
    put(&event.sector.to_le_bytes());
    put(&event.other.to_le_bytes());
    put(&event.dev.to_le_bytes());
    put(&event.sectors.to_le_bytes());
    put(&event.pid.to_le_bytes());
    put(&i16::try_from(event.error).unwrap_or(i16::MIN).to_le_bytes());
    put(&event.comm.to_le_bytes());
    put(&[event.kind as u8, event.flags.op as u8, event.flags.bits, 0]);
    bytes
}

fn event(bytes: &[u8; RECORD]) -> Option<Event> {
    let part = |at: usize, length: usize| {
        let mut wide = [0; 8];
        wide[..length].copy_from_slice(&bytes[at..at + length]);
        u64::from_le_bytes(wide)
    };
    Some(Event {
        at_ns: part(0, 8),
        sector: part(8, 8),
        other: part(16, 8),
        dev: part(24, 4) as u32,
        sectors: part(28, 4) as u32,
        pid: part(32, 4) as i32,
        error: i32::from(part(36, 2) as i16),
        comm: part(38, 2) as u16,
        kind: Kind::from_number(bytes[40])?,
        flags: Flags { op: Op::from_number(bytes[41]), bits: bytes[42] },
    })
}
