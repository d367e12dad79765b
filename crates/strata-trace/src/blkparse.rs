//! Traces as text in the form of blkparse, so that what others recorded can be read.

use crate::device::TracedDevice;
use crate::event::{Event, Kind, Names};
use crate::flags::Flags;
use crate::summary::Source;

/// Letters of the actions that are followed; of two for one kind, or kinds for one letter, the first is what is told.
const ACTIONS: [(&str, Kind); 9] = [
    ("Q", Kind::Queue),
    ("X", Kind::Split),
    ("M", Kind::Merge),
    ("F", Kind::Merge),
    ("I", Kind::Insert),
    ("D", Kind::Issue),
    ("R", Kind::Requeue),
    ("C", Kind::Complete),
    ("C", Kind::BioComplete),
];

/// What a text gave.
pub struct Text {
    /// Its events and devices.
    pub source: Source,
    /// Lines that were events.
    pub events: u64,
    /// Lines that looked like events and were none we know the meaning of (plugs, sleeps, remaps, messages).
    pub other_actions: u64,
}

/// Read the default output of blkparse: `8,0 3 1 0.000000000 697 D W 223490 + 8 [kjournald]`.
///
/// Everything that does not begin with a device is passed over: headings, the totals at the end.
///
/// # Errors
/// Where not one line is an event.
pub fn read(text: &str) -> Result<Text, String> {
    let mut names = Names::default();
    let (mut events, mut other_actions) = (Vec::new(), 0);
    for line in text.lines() {
        match event(line, &mut names) {
            Some(Some(event)) => events.push(event),
            Some(None) => other_actions += 1,
            None => {}
        }
    }
    if events.is_empty() {
        return Err(
            "no line is an event of blkparse (device, processor, number, seconds, process, action …)".into(),
        );
    }
    let mut devices: Vec<u32> = events.iter().map(|e| e.dev).collect();
    devices.sort_unstable();
    devices.dedup();
    let targets = devices.into_iter().map(|dev| target(dev, &events)).collect();
    let count = events.len() as u64;
    Ok(Text {
        source: Source { targets, events, names, window_ns: None, whole: true },
        events: count,
        other_actions,
    })
}

/// A device whose I/Os were never issued, only queued and completed, has no requests.
fn target(dev: u32, events: &[Event]) -> TracedDevice {
    let by_bio = !events.iter().any(|e| e.dev == dev && e.kind == Kind::Issue);
    TracedDevice {
        name: format!("{},{}", dev >> 20, dev & 0xf_ffff),
        dev,
        by_bio,
        role: "recorded".into(),
        ..TracedDevice::default()
    }
}

/// `None`: not the line of an event. `Some(None)`: of an action that is not followed.
fn event(line: &str, names: &mut Names) -> Option<Option<Event>> {
    let mut words = line.split_whitespace();
    let (major, minor) = words.next()?.split_once(',')?;
    let dev = major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()? & 0xf_ffff;
    words.next()?.parse::<u32>().ok()?;
    words.next()?.parse::<u64>().ok()?;
    let at_ns = nanoseconds(words.next()?)?;
    let pid = words.next()?.parse().ok()?;
    let action = words.next()?;
    let Some(&(_, kind)) = ACTIONS.iter().find(|(known, _)| *known == action) else { return Some(None) };
    let flags = Flags::parse(words.next()?.as_bytes());
    let rest: Vec<&str> = words.collect();
    let number = |at: usize| rest.get(at).and_then(|w| w.parse::<u64>().ok());
    // What carries no data has no place and no length, only what stands in brackets.
    let (sector, length) = match (number(0), rest.get(1).copied()) {
        (Some(sector), Some("+" | "/")) => (sector, number(2)?),
        _ => (0, 0),
    };
    let brackets =
        line.rsplit_once('[').and_then(|(_, tail)| tail.split_once(']')).map_or("", |(inside, _)| inside);
    let split = kind == Kind::Split;
    Some(Some(Event {
        at_ns,
        sector,
        other: if split { length } else { 0 },
        dev,
        sectors: if split { 0 } else { u32::try_from(length).ok()? },
        pid,
        error: if kind == Kind::Complete { brackets.parse().unwrap_or(0) } else { 0 },
        comm: if kind == Kind::Complete { 0 } else { names.number(brackets.as_bytes()) },
        kind,
        flags,
    }))
}

/// `0.000000123` without a detour over a float.
fn nanoseconds(seconds: &str) -> Option<u64> {
    let (whole, part) = seconds.split_once('.')?;
    let digits = part.len().min(9);
    let fraction: u64 = part.get(..digits)?.parse().ok()?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(fraction * 10u64.pow(9 - digits as u32))
}

/// One event in the form that [`read`] reads; `sequence` is the line's number.
#[must_use]
pub fn line(event: &Event, names: &Names, sequence: u64) -> Option<String> {
    let &(action, _) = ACTIONS.iter().find(|(_, kind)| *kind == event.kind)?;
    let tail = if action == "C" { event.error.to_string() } else { names.name(event.comm).to_owned() };
    let place = match event.kind {
        Kind::Split => format!("{} / {} ", event.sector, event.other),
        _ if event.sectors == 0 => String::new(),
        _ => format!("{} + {} ", event.sector, event.sectors),
    };
    Some(format!(
        "{:>3},{:<3} {:>2} {:>8} {:>5}.{:09} {:>5} {:>2} {:>3} {place}[{tail}]",
        event.dev >> 20,
        event.dev & 0xf_ffff,
        0,
        sequence,
        event.at_ns / 1_000_000_000,
        event.at_ns % 1_000_000_000,
        event.pid,
        action,
        event.flags.letters(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "\
  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]
  8,0    3        3     0.000002197   697  P   N [kjournald]
  8,0    3        6     0.000005000   697  D   W 223490 + 8 [kjournald]
  8,0    3        7     0.000100000     0  C   W 223490 + 8 [0]
  8,0    3        8     0.000200000   697  Q FWS [kjournald]
  8,0    3        9     1.500000000   697  X   R 100 / 108 [fio]
CPU3 (8,0):
 Reads Queued:           0,        0KiB\t Writes Queued:          1,        4KiB
";

    #[test]
    fn the_lines_of_the_manual() {
        let text = read(RECORDED).unwrap();
        assert_eq!((text.events, text.other_actions), (5, 2));
        let events = &text.source.events;
        assert_eq!(
            (events[1].kind, events[1].at_ns, events[1].sector, events[1].sectors),
            (Kind::Issue, 5000, 223_490, 8)
        );
        assert_eq!((events[3].sectors, events[3].flags.has(Flags::PREFLUSH)), (0, true));
        assert_eq!((events[4].other, events[4].at_ns), (108, 1_500_000_000));
        assert_eq!(text.source.names.name(events[4].comm), "fio");
        assert_eq!(text.source.targets[0].name, "8,0");
    }

    #[test]
    fn what_is_written_is_read_the_same() {
        let text = read(RECORDED).unwrap();
        let lines: Vec<String> = text
            .source
            .events
            .iter()
            .enumerate()
            .filter_map(|(n, e)| line(e, &text.source.names, n as u64))
            .collect();
        let again = read(&lines.join("\n")).unwrap();
        assert_eq!(again.source.events, text.source.events);
    }

    #[test]
    fn another_file_is_refused() {
        assert!(read("hello\n1,2 world\n").is_err());
    }
}
