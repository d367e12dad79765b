//! The letters by which the kernel says what an I/O is (`rwbs`): `R`, `WS`, `FWFSM`, `DE` …

use serde::Serialize;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Op {
    /// Data out of the device.
    Read = 0,
    /// Data into the device.
    Write = 1,
    /// Blocks given up (discard, secure erase).
    Discard = 2,
    /// A flush that carries no data.
    Flush = 3,
    /// Zone operations, passthrough and what is not known.
    Other = 4,
}

impl Op {
    /// From its number; what is none is `Other`.
    #[must_use]
    pub fn from_number(number: u8) -> Self {
        [Self::Read, Self::Write, Self::Discard, Self::Flush][..]
            .get(number as usize)
            .copied()
            .unwrap_or(Self::Other)
    }
}

/// An operation and how it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags {
    /// What is done.
    pub op: Op,
    /// [`Self::SYNC`], [`Self::FUA`] …
    pub bits: u8,
}

/// What stands behind the operation, in the kernel's order.
const BEHIND: [(u8, char); 4] =
    [(Flags::FUA, 'F'), (Flags::AHEAD, 'A'), (Flags::SYNC, 'S'), (Flags::META, 'M')];

impl Flags {
    /// Somebody waits for it.
    pub const SYNC: u8 = 1;
    /// Through the device's write cache.
    pub const FUA: u8 = 2;
    /// The cache is flushed before it.
    pub const PREFLUSH: u8 = 4;
    /// Read ahead: nobody has asked for it yet.
    pub const AHEAD: u8 = 8;
    /// A file system's own data.
    pub const META: u8 = 16;

    /// Read the letters. `F` before the operation is a flush before it, behind it write-through; alone it is a flush.
    #[must_use]
    pub fn parse(letters: &[u8]) -> Self {
        let place = letters.iter().position(|l| b"RWDN".contains(l));
        let Some(place) = place else {
            let op = if letters.contains(&b'F') { Op::Flush } else { Op::Other };
            return Self { op, bits: bits_of(letters) & !(Self::FUA | Self::PREFLUSH) };
        };
        let op = match letters[place] {
            b'R' => Op::Read,
            b'W' => Op::Write,
            b'D' => Op::Discard,
            _ if letters[..place].contains(&b'F') => Op::Flush,
            _ => Op::Other,
        };
        let before = if letters[..place].contains(&b'F') { Self::PREFLUSH } else { 0 };
        Self { op, bits: before | bits_of(&letters[place + 1..]) }
    }

    /// The letters again, in the kernel's order.
    #[must_use]
    pub fn letters(self) -> String {
        let mut text = String::new();
        if self.has(Self::PREFLUSH) {
            text.push('F');
        }
        text.push(match self.op {
            Op::Read => 'R',
            Op::Write => 'W',
            Op::Discard => 'D',
            Op::Flush => 'F',
            Op::Other => 'N',
        });
        text.extend(BEHIND.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, letter)| letter));
        text
    }

    /// Whether all these bits are set.
    #[must_use]
    pub fn has(self, bits: u8) -> bool {
        self.bits & bits == bits
    }
}

fn bits_of(letters: &[u8]) -> u8 {
    BEHIND
        .iter()
        .filter(|(_, letter)| letters.contains(&(*letter as u8)))
        .fold(0, |bits, (bit, _)| bits | bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letters_of_the_kernel() {
        let cases: [(&str, Op, u8); 9] = [
            ("R", Op::Read, 0),
            ("RA", Op::Read, Flags::AHEAD),
            ("WS", Op::Write, Flags::SYNC),
            ("WFS", Op::Write, Flags::FUA | Flags::SYNC),
            ("FWFSM", Op::Write, Flags::PREFLUSH | Flags::FUA | Flags::SYNC | Flags::META),
            ("F", Op::Flush, 0),
            ("FF", Op::Flush, 0),
            ("DE", Op::Discard, 0),
            ("N", Op::Other, 0),
        ];
        for (letters, op, bits) in cases {
            assert_eq!(Flags::parse(letters.as_bytes()), Flags { op, bits }, "{letters}");
        }
    }
}
