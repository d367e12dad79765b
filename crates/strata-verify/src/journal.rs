//! The journal as bytes: what was written, kept where a killed run can be held to it.
//!
//! A head (magic, length, checksum, JSON), then frames: number of records (u32), checksum (u32), records of 8 bytes.
//! A record is a number (block or flush id) shifted left by three, and the kind of event below. All little endian. A
//! frame that is cut short or whose checksum fails ends the journal: it was being written when everything stopped,
//! and the writes it announces were not begun.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::block_states::{BlockStates, Event, MOST_BLOCKS};
use crate::stamp::Layout;

const MAGIC: [u8; 8] = *b"STRAVJ\x00\x01";
const RECORD: usize = 8;
/// Records of the longest frame that is believed.
const MOST: u32 = 1 << 20;
/// The longest head, in bytes.
const HEAD_MOST: u32 = 1 << 16;

/// What the journal is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The run whose stamps count.
    pub run: u64,
    /// The endpoint as the user named it.
    pub endpoint: String,
    /// The uuid of the mark of the file it is about, where it is one of Strata's own.
    pub mark: Option<String>,
    /// Byte offset of block 0.
    pub first_byte: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Bytes of a sector.
    pub sector_bytes: u32,
    /// Writes were write-through.
    pub durable: bool,
}

impl Head {
    /// The layout of its blocks.
    #[must_use]
    pub fn layout(&self) -> Layout {
        Layout {
            run: self.run,
            first_byte: self.first_byte,
            block_bytes: self.block_bytes,
            sector_bytes: self.sector_bytes,
        }
    }

    /// The first bytes of a journal.
    ///
    /// # Errors
    /// Never in practice: it is a plain value.
    pub fn encode(&self) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let mut out = MAGIC.to_vec();
        out.extend((json.len() as u32).to_le_bytes());
        out.extend(check(&json).to_le_bytes());
        out.extend(json);
        Ok(out)
    }
}

/// A frame of these events.
#[must_use]
pub fn frame(events: &[Event]) -> Vec<u8> {
    let mut records = Vec::with_capacity(events.len() * RECORD);
    for event in events {
        let (number, kind) = match *event {
            Event::Issued(block) => (block, 0),
            Event::Acked(block) => (block, 1),
            Event::FlushBegun(id) => (id, 2),
            Event::Flushed(id) => (id, 3),
            Event::PowerLost => (0, 4),
        };
        records.extend((number << 3 | kind).to_le_bytes());
    }
    let mut out = Vec::with_capacity(8 + records.len());
    out.extend((events.len() as u32).to_le_bytes());
    out.extend(check(&records).to_le_bytes());
    out.extend(records);
    out
}

/// None: a record of a later version.
fn event(record: u64) -> Option<Event> {
    let number = record >> 3;
    match record & 7 {
        0 => Some(Event::Issued(number)),
        1 => Some(Event::Acked(number)),
        2 => Some(Event::FlushBegun(number)),
        3 => Some(Event::Flushed(number)),
        4 => Some(Event::PowerLost),
        _ => None,
    }
}

fn check(bytes: &[u8]) -> u32 {
    xxh3_64(bytes) as u32
}

/// A journal that was read.
#[derive(Debug)]
pub struct Replayed {
    /// What it is about.
    pub head: Head,
    /// The state at its end.
    pub states: BlockStates,
    /// Bytes up to the last whole frame.
    pub good_bytes: u64,
    /// Whether something that is no whole frame follows.
    pub cut_short: bool,
}

/// Read a journal to its end.
///
/// # Errors
/// It cannot be read, or does not begin like one (`InvalidData`).
pub fn replay(mut from: impl Read) -> io::Result<Replayed> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut start = [0; 16];
    if !filled(&mut from, &mut start)? || start[..8] != MAGIC {
        return Err(bad("it is not a journal of strata verify"));
    }
    let (length, sum) = (word(&start[8..]), word(&start[12..]));
    if length > HEAD_MOST {
        return Err(bad("its header is damaged"));
    }
    let mut json = vec![0; length as usize];
    if !filled(&mut from, &mut json)? || check(&json) != sum {
        return Err(bad("its header is damaged"));
    }
    let head: Head = serde_json::from_slice(&json)?;
    if head.blocks > MOST_BLOCKS {
        return Err(bad("it covers more blocks than are supported"));
    }
    let mut states = BlockStates::new(0, head.blocks, head.durable);
    let mut good_bytes = (start.len() + json.len()) as u64;
    let cut_short = loop {
        let mut prefix = [0; 8];
        match from.read(&mut prefix[..1])? {
            0 => break false,
            _ if !filled(&mut from, &mut prefix[1..])? => break true,
            _ => {}
        }
        let (count, sum) = (word(&prefix), word(&prefix[4..]));
        if count > MOST {
            break true;
        }
        let mut records = vec![0; count as usize * RECORD];
        if !filled(&mut from, &mut records)? || check(&records) != sum {
            break true;
        }
        for record in records.chunks_exact(RECORD).filter_map(|bytes| bytes.first_chunk()) {
            let Some(event) = event(u64::from_le_bytes(*record)) else {
                return Err(bad("it was written by a newer version of strata"));
            };
            states.note(event);
        }
        good_bytes += (prefix.len() + records.len()) as u64;
    };
    Ok(Replayed { head, states, good_bytes, cut_short })
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Whether `into` could be filled to its end.
fn filled(from: &mut impl Read, into: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(into) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::block_states::Loss;
    use proptest::prelude::*;

    pub(crate) fn head() -> Head {
        Head {
            mark: None,
            run: 9,
            endpoint: "null:".into(),
            first_byte: 0,
            blocks: 4,
            block_bytes: 4096,
            sector_bytes: 512,
            durable: false,
        }
    }

    fn event() -> impl Strategy<Value = Event> {
        (0u64..32).prop_filter_map("known", super::event)
    }

    fn state(states: &BlockStates) -> Vec<(u64, u64)> {
        let bounds = |b, loss| states.expect(b, loss, false);
        (0..4).map(|b| (bounds(b, Loss::Power).must, bounds(b, Loss::Process).may)).collect()
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(frames in prop::collection::vec(prop::collection::vec(event(), 0..20), 0..20)) {
            let mut bytes = head().encode().expect("plain");
            let mut states = BlockStates::new(0, 4, false);
            for events in &frames {
                bytes.extend(frame(events));
                events.iter().for_each(|&e| states.note(e));
            }
            let read = replay(&bytes[..]).expect("a journal");
            prop_assert_eq!(&read.head, &head());
            prop_assert_eq!((read.good_bytes, read.cut_short), (bytes.len() as u64, false));
            prop_assert_eq!(state(&read.states), state(&states));
        }

        #[test]
        fn a_cut_or_damaged_end_is_left_out(events in prop::collection::vec(event(), 1..20), lost in 1usize..8, flip: bool) {
            let mut bytes = head().encode().expect("plain");
            bytes.extend(frame(&events));
            let (good, expected) = (bytes.len() as u64, replay(&bytes[..]).expect("a journal"));
            let mut last = frame(&events);
            if flip {
                let at = last.len() - lost;
                last[at] ^= 1;
            } else {
                last.truncate(last.len() - lost);
            }
            bytes.extend(last);
            let read = replay(&bytes[..]).expect("a journal");
            prop_assert_eq!((read.good_bytes, read.cut_short), (good, true));
            prop_assert_eq!(state(&read.states), state(&expected.states));
        }
    }

    proptest! {
        #[test]
        fn noise_is_left_out_or_refused(noise in prop::collection::vec(any::<u8>(), 0..200), headed: bool) {
            let mut bytes = if headed { head().encode().expect("plain") } else { Vec::new() };
            let good = bytes.len() as u64;
            bytes.extend(&noise);
            match replay(&bytes[..]) {
                // Eight zeroes are a frame of nothing, should chance make them.
                Ok(read) => prop_assert!(headed && read.good_bytes >= good),
                Err(e) => prop_assert!(e.kind() == io::ErrorKind::InvalidData || headed),
            }
        }
    }

    #[test]
    fn what_is_no_journal_is_refused() {
        let endless = Head { blocks: 1 << 60, ..head() }.encode().expect("plain");
        assert!(replay(&endless[..]).is_err());
        for bytes in [&b""[..], b"STRAVJ", b"#!/bin/sh something else altogether"] {
            assert_eq!(replay(bytes).expect_err("no journal").kind(), io::ErrorKind::InvalidData);
        }
        let mut damaged = head().encode().expect("plain");
        damaged[20] ^= 1;
        assert!(replay(&damaged[..]).is_err());
    }
}
