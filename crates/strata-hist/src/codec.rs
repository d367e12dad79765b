//! HdrHistogram V2, uncompressed: a 40-byte head, then counts with runs of zeros as negative numbers.

use crate::histogram::Histogram;
use crate::layout::{HIGHEST_NS, SIGNIFICANT_DIGITS};

/// V2 with the word size nibble that every writer sets.
const COOKIE: u32 = 0x1c84_9303 | 0x10;
const HEAD_BYTES: usize = 40;

/// Why bytes are not a histogram of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the head or the head's payload length says.
    #[error("histogram: the bytes end too early")]
    Truncated,
    /// Not the V2 cookie (a deflated V2 begins otherwise and must be inflated first).
    #[error("histogram: cookie {0:#010x} is not HdrHistogram V2 ({COOKIE:#010x}); inflate it first")]
    Cookie(u32),
    /// Another unit, number of digits or index shift than ours.
    #[error(
        "histogram: lowest {lowest}, {digits} digits, offset {offset}; only lowest 1, {SIGNIFICANT_DIGITS} digits, offset 0 can be merged"
    )]
    Layout {
        /// Lowest discernible value of the histogram.
        lowest: u64,
        /// Its significant digits.
        digits: u32,
        /// Its normalizing index offset.
        offset: u32,
    },
    /// A count beyond the range, or counts that overflow.
    #[error("histogram: a count lies beyond an hour or the counts overflow")]
    Counts,
}

impl Histogram {
    /// The V2 bytes. Sum, exact extremes and `clamped` are not part of the format.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut counts = Vec::new();
        let mut next = 0;
        for (index, count) in self.buckets() {
            if index > next {
                write_number(&mut counts, -((index - next) as i64));
            }
            write_number(&mut counts, i64::try_from(count).unwrap_or(i64::MAX));
            next = index + 1;
        }
        let mut out = Vec::with_capacity(HEAD_BYTES + counts.len());
        for word in [COOKIE, counts.len() as u32, 0, SIGNIFICANT_DIGITS] {
            out.extend(word.to_be_bytes());
        }
        out.extend(1u64.to_be_bytes());
        out.extend(HIGHEST_NS.to_be_bytes());
        out.extend(1f64.to_be_bytes());
        out.extend(counts);
        out
    }

    /// Read V2 bytes back.
    ///
    /// # Errors
    /// [`DecodeError`] says what does not fit; bytes after the payload are ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (head, payload) = bytes.split_at_checked(HEAD_BYTES).ok_or(DecodeError::Truncated)?;
        let word = |at: usize| -> u32 { head[at..at + 4].iter().fold(0, |n, &b| n << 8 | u32::from(b)) };
        if word(0) != COOKIE {
            return Err(DecodeError::Cookie(word(0)));
        }
        let lowest = u64::from(word(16)) << 32 | u64::from(word(20));
        let (digits, offset) = (word(12), word(8));
        if lowest != 1 || digits != SIGNIFICANT_DIGITS || offset != 0 {
            return Err(DecodeError::Layout { lowest, digits, offset });
        }
        let mut rest = payload.get(..word(4) as usize).ok_or(DecodeError::Truncated)?;
        let (mut buckets, mut index) = (Vec::new(), 0usize);
        while !rest.is_empty() {
            let count = read_number(&mut rest).ok_or(DecodeError::Truncated)?;
            if count < 0 {
                index = usize::try_from(count.unsigned_abs())
                    .ok()
                    .and_then(|zeros| index.checked_add(zeros))
                    .ok_or(DecodeError::Counts)?;
                continue;
            }
            if count > 0 {
                buckets.push((index, count as u64));
            }
            // Writers may pad with zeros up to a longer range than ours; only a count there is refused.
            index += 1;
        }
        Self::from_buckets(&buckets).ok_or(DecodeError::Counts)
    }
}

/// Append one signed number (1 to 9 bytes): zigzag LEB128, 7 bits a byte, but a ninth byte carries 8.
fn write_number(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    for _ in 0..8 {
        if rest < 0x80 {
            out.push(rest as u8);
            return;
        }
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Take one signed number off the front; `None` when the bytes end too early.
fn read_number(bytes: &mut &[u8]) -> Option<i64> {
    let mut raw = 0u64;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            raw |= u64::from(byte) << 56;
            break;
        }
        raw |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_survives() {
        for value in [0, -1, 1, 63, 64, -65, 1 << 20, -(1 << 41), i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            write_number(&mut bytes, value);
            assert!(bytes.len() <= 9);
            let mut rest = bytes.as_slice();
            assert_eq!(read_number(&mut rest), Some(value));
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn a_cut_number_is_refused() {
        assert_eq!(read_number(&mut [0x80u8, 0x80].as_slice()), None);
    }
}
