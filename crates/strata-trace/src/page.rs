//! A page of the kernel's ring buffer: a time, a length, and records with times relative to it.

use crate::format::{Field, fields};

/// Bits of the length word that the kernel names nowhere but in its sources: events were lost before this page, and
/// their number stands behind the last record.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const LENGTH: u64 = (1 << 27) - 1;

/// How pages look on this kernel, from `events/header_page` and `events/header_event`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    timestamp: Field,
    commit: Field,
    data: Field,
    length_bits: u32,
    delta_bits: u32,
    padding: u32,
    extend: u32,
    stamp: u32,
    longest: u32,
}

/// What one page told beside its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Records that were handed out.
    pub records: u64,
    /// Records that were lost before this page; 0 with `gap` set: some, and the kernel did not say how many.
    pub missed: u64,
    /// Whether anything was lost before this page.
    pub gap: bool,
    /// Whether the page was not what its header said; the records before that were handed out.
    pub broken: bool,
}

impl Layout {
    /// Read the two descriptions.
    ///
    /// # Errors
    /// Which word is missing.
    pub fn parse(header_page: &str, header_event: &str) -> Result<Self, String> {
        if cfg!(target_endian = "big") {
            return Err("header_event: the order of its bits is known for little-endian machines only".into());
        }
        let found = fields(header_page);
        let field = |name: &str| {
            found.iter().find(|f| f.name == name).cloned().ok_or_else(|| format!("header_page: no {name}"))
        };
        let number = |key: &str, before: &str| {
            let line = header_event.lines().find(|line| line.trim_start().starts_with(key));
            line.and_then(|line| line.split(before).nth(1))
                .and_then(|rest| rest.split_whitespace().next())
                .and_then(|n| n.parse::<u32>().ok())
                .ok_or_else(|| format!("header_event: no {key}"))
        };
        let layout = Self {
            timestamp: field("timestamp")?,
            commit: field("commit")?,
            data: field("data")?,
            length_bits: number("type_len", ":")?,
            delta_bits: number("time_delta", ":")?,
            padding: number("padding", "==")?,
            extend: number("time_extend", "==")?,
            stamp: number("time_stamp", "==")?,
            longest: number("data max type_len", "==")?,
        };
        if layout.length_bits + layout.delta_bits != 32 || layout.length_bits == 0 {
            return Err("header_event: type_len and time_delta are not one word of 32 bits".into());
        }
        Ok(layout)
    }

    /// Bytes of a page.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        self.data.offset + self.data.size
    }

    /// Hand out (time in ns, record) for each record of a page; pages that were cut short give what is whole in them.
    pub fn records(&self, page: &[u8], mut each: impl FnMut(u64, &[u8])) -> Read {
        let mut read = Read::default();
        let (Some(began), Some(commit)) = (self.timestamp.number(page), self.commit.number(page)) else {
            read.broken = true;
            return read;
        };
        let (began, commit) = (began as u64, commit as u64);
        let data = page.get(self.data.offset..).unwrap_or_default();
        let length = (commit & LENGTH) as usize;
        read.gap = commit & MISSED != 0;
        if read.gap && commit & MISSED_STORED != 0 {
            // As long as the length word itself, right behind the last record.
            let stored = Field { offset: length, size: self.commit.size, ..self.commit.clone() };
            read.missed = stored.number(data).map_or(0, |n| n.max(0) as u64);
        }
        read.broken = data.len() < length;
        let data = &data[..length.min(data.len())];
        let mut walk = Walk { data, at: 0, now: began };
        while walk.at + 4 <= data.len() {
            match self.next(&mut walk) {
                Some(Some(record)) => {
                    read.records += 1;
                    each(walk.now, record);
                }
                Some(None) => {}
                None => {
                    read.broken = true;
                    break;
                }
            }
        }
        read
    }

    /// One step: a record, something that is none (`Some(None)`), or `None` where the page makes no sense.
    fn next<'a>(&self, walk: &mut Walk<'a>) -> Option<Option<&'a [u8]>> {
        let head = walk.word()?;
        let kind = head & ((1 << self.length_bits) - 1);
        let delta = u64::from(head >> self.length_bits);
        if kind == self.padding {
            if delta == 0 {
                // Nothing behind it on this page.
                walk.at = walk.data.len();
                return Some(None);
            }
            // A record that was thrown away keeps its place and its length; its time still counts.
            let length = walk.word()? as usize;
            walk.now = walk.now.wrapping_add(delta);
            walk.skip(length.checked_sub(4)?)?;
            return Some(None);
        }
        if kind == self.extend {
            let high = u64::from(walk.word()?);
            walk.now = walk.now.wrapping_add((high << self.delta_bits) + delta);
            return Some(None);
        }
        if kind == self.stamp {
            // Absolute, without the five highest bits: those are the page's.
            let bits = 32 + self.delta_bits;
            let low = (u64::from(walk.word()?) << self.delta_bits) + delta;
            walk.now = (walk.now >> bits << bits) | low;
            return Some(None);
        }
        if kind > self.longest {
            return None;
        }
        walk.now = walk.now.wrapping_add(delta);
        let length = if kind == 0 { (walk.word()? as usize).checked_sub(4)? } else { kind as usize * 4 };
        walk.skip(length).map(Some)
    }
}

struct Walk<'a> {
    data: &'a [u8],
    at: usize,
    now: u64,
}

impl<'a> Walk<'a> {
    fn word(&mut self) -> Option<u32> {
        let bytes: [u8; 4] = self.data.get(self.at..self.at + 4)?.try_into().ok()?;
        self.at += 4;
        Some(u32::from_le_bytes(bytes))
    }

    /// The next `length` bytes; records begin at multiples of four.
    fn skip(&mut self, length: usize) -> Option<&'a [u8]> {
        let bytes = self.data.get(self.at..self.at.checked_add(length)?)?;
        self.at += length.next_multiple_of(4);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout() -> Layout {
        let text = |name| std::fs::read_to_string(format!("tests/data/format/{name}")).unwrap();
        Layout::parse(&text("header_page"), &text("header_event")).unwrap()
    }

    /// A page with these words behind its header.
    fn page(began: u64, flags: u64, words: &[u32], behind: &[u8]) -> Vec<u8> {
        let mut bytes = began.to_le_bytes().to_vec();
        bytes.extend((flags | (words.len() as u64 * 4)).to_le_bytes());
        bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        bytes.extend(behind);
        bytes
    }

    fn told(page: &[u8]) -> (Vec<(u64, Vec<u8>)>, Read) {
        let mut found = Vec::new();
        let read = layout().records(page, |at, record| found.push((at, record.to_vec())));
        (found, read)
    }

    #[test]
    fn times_add_up_from_record_to_record() {
        let words = [
            1 | 5 << 5, // four bytes, 5 ns later
            0xaa,
            30 | 1 << 5, // a long pause: 2 << 27 plus 1
            2,
            2 | 7 << 5, // eight bytes
            0xbb,
            0xcc,
        ];
        let (found, read) = told(&page(100, 0, &words, &[]));
        assert_eq!(found[0], (105, vec![0xaa, 0, 0, 0]));
        assert_eq!(found[1].0, 105 + (2 << 27) + 1 + 7);
        assert_eq!(found[1].1.len(), 8);
        assert_eq!((read.records, read.gap, read.broken), (2, false, false));
    }

    #[test]
    fn long_records_absolute_times_and_padding() {
        let words = [
            3 << 5, // its length in the next word, which it includes
            8,
            0xdd,
            29 | 9 << 5, // a discarded record of four bytes
            8,
            0,
            31 | 11 << 5, // a time of its own
            1,
            1 | 2 << 5,
            0xee,
            29, // the rest is empty
            0xffff_ffff,
        ];
        let high = 3 << 59;
        let (found, read) = told(&page(high + 50, 0, &words, &[]));
        assert_eq!(found[0], (high + 53, vec![0xdd, 0, 0, 0]));
        assert_eq!(found[1].0, high + (1 << 27) + 11 + 2);
        assert_eq!((read.records, read.broken), (2, false));
    }

    #[test]
    fn lost_events_are_told_with_their_number_where_it_is_known() {
        let words = [1, 0xaa];
        let (found, read) = told(&page(0, 1 << 31 | 1 << 30, &words, &17u64.to_le_bytes()));
        assert_eq!((found.len(), read.gap, read.missed), (1, true, 17));
        let (_, read) = told(&page(0, 1 << 31, &words, &[]));
        assert_eq!((read.gap, read.missed), (true, 0));
    }

    #[test]
    fn a_page_that_was_cut_gives_what_is_whole() {
        let whole = page(0, 0, &[1, 0xaa, 1, 0xbb], &[]);
        let (found, read) = told(&whole[..whole.len() - 2]);
        assert_eq!((found.len(), read.broken), (1, true));
        assert!(told(&[]).1.broken);
    }

    #[test]
    fn descriptions_that_lack_a_word_are_refused_by_its_name() {
        assert_eq!(Layout::parse("", "").unwrap_err(), "header_page: no timestamp");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_page_that_ends(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let (found, read) = told(&bytes);
            prop_assert_eq!(found.len() as u64, read.records);
        }
    }
}
