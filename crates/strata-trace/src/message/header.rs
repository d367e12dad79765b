//! What the headers of a protocol look like: a table that comes with the job.

use serde::Deserialize;

/// No header is longer.
const LONGEST: usize = 128;
const EVERY: usize = 8;

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The client begins to ask.
    Question,
    /// More of a question that was begun: data that the server asked for.
    More,
    /// A part of a reply.
    Part,
    /// The last part of a reply.
    Reply,
    /// Nothing of both; it has a length.
    Other,
}

/// A number in a header; `scale` times its value, up to a multiple of `pad`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    at: usize,
    bytes: usize,
    #[serde(default = "all")]
    mask: u64,
    #[serde(default = "one")]
    scale: u64,
    #[serde(default = "one")]
    pad: u64,
}

fn all() -> u64 {
    u64::MAX
}

fn one() -> u64 {
    1
}

impl Number {
    /// Network order; more than eight bytes are none.
    pub(super) fn of(&self, header: &[u8]) -> Option<u64> {
        let bytes = header.get(self.at..self.at.checked_add(self.bytes)?).filter(|b| b.len() <= EVERY)?;
        let plain = bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b)) & self.mask;
        plain.checked_mul(self.scale)?.checked_next_multiple_of(self.pad.max(1))
    }
}

/// A kind of header.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub(super) role: Role,
    /// (where, which bits, their value) of the bytes by which it is known.
    pub(super) holds: Vec<(usize, u8, u8)>,
    /// How many bytes the rest of the row is about.
    pub(super) header: usize,
    /// What a reply repeats of its question; the bytes are compared and mean nothing.
    pub(super) tag: Option<Number>,
    /// The whole message, from the first byte of the header on: these numbers together …
    #[serde(default)]
    pub(super) length: Vec<Number>,
    /// … and so many bytes.
    pub(super) plus: u64,
    /// Of a question: what its reply brings, where the reply does not say it.
    #[serde(default)]
    pub(super) brings: Option<Number>,
    /// Of a reply: what the question asked for is behind the header.
    #[serde(default)]
    pub(super) brought: bool,
    /// Of a question: what it asks, see [`Tagged::deed`].
    #[serde(default)]
    pub(super) deed: u8,
}

pub(super) enum Fit {
    Yes,
    No,
    /// So many bytes decide it.
    Needs(usize),
}

impl Row {
    pub(super) fn fits(&self, header: &[u8]) -> Fit {
        let mut known = true;
        for (at, mask, value) in &self.holds {
            match header.get(*at) {
                Some(byte) if byte & mask != *value => return Fit::No,
                Some(_) => {}
                None => known = false,
            }
        }
        if known && header.len() >= self.header { Fit::Yes } else { Fit::Needs(self.header.min(LONGEST)) }
    }

    pub(super) fn asks(&self) -> bool {
        matches!(self.role, Role::Question | Role::More)
    }
}

/// A protocol.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// Its scheme.
    pub name: String,
    /// The first that fits counts.
    pub rows: Vec<Row>,
}
