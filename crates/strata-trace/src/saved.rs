//! A trace in a file: a line that says what it is, a description in JSON, and the events, 44 bytes each, little-endian.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::device::TracedDevice;
use crate::event::{Event, Kind, Names};
use crate::flags::{Flags, Op};
use crate::summary::Source;

const MAGIC: &[u8] = b"strata-trace 1\n";
const RECORD: usize = 44;
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
pub fn write(to: &mut impl Write, source: &Source, recording: &serde_json::Value) -> io::Result<()> {
    let head = Head {
        targets: source.targets.clone(),
        names: source.names.all().to_vec(),
        window_ns: source.window_ns,
        whole: source.whole,
        events: source.events.len() as u64,
        recording: recording.clone(),
    };
    let head = serde_json::to_vec(&head)?;
    to.write_all(MAGIC)?;
    to.write_all(&(head.len() as u32).to_le_bytes())?;
    to.write_all(&head)?;
    for event in &source.events {
        to.write_all(&record(event))?;
    }
    to.flush()
}

/// Read what [`write`] wrote: the trace, and what its recording said.
///
/// # Errors
/// `InvalidData` for what is not ours or was cut short.
pub fn read(from: &mut impl Read) -> io::Result<(Source, serde_json::Value)> {
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
    from.take(u64::from(length)).read_to_end(&mut text)?;
    let head: Head = serde_json::from_slice(&text)?;
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
    let source =
        Source { targets: head.targets, events, names, window_ns: head.window_ns, whole: head.whole };
    Ok((source, head.recording))
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
