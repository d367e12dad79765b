//! However a connection is cut into segments, its questions find their replies; what was not seen is counted, and no
//! reply is given to another question.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use strata_trace::message::{Again, Messages, Protocol, Reader, Segment, Tagged};

/// `Q` kind tag length …data…; `R` last tag [length …data…], where a plain reply (`r`) brings what was asked for.
const TABLE: &str = r#"{"name": "made up", "rows": [
    {"role": "question", "holds": [[0, 255, 81], [1, 255, 114]], "header": 8, "plus": 8, "deed": 1,
     "tag": {"at": 2, "bytes": 2}, "brings": {"at": 4, "bytes": 4}},
    {"role": "question", "holds": [[0, 255, 81], [1, 255, 119]], "header": 8, "plus": 8, "deed": 2,
     "tag": {"at": 2, "bytes": 2}, "length": [{"at": 4, "bytes": 4}]},
    {"role": "more", "holds": [[0, 255, 77]], "header": 8, "plus": 8,
     "tag": {"at": 2, "bytes": 2}, "length": [{"at": 4, "bytes": 4}]},
    {"role": "other", "holds": [[0, 255, 79]], "header": 4, "plus": 4},
    {"role": "reply", "holds": [[0, 255, 114]], "header": 4, "plus": 4, "tag": {"at": 2, "bytes": 2}, "brought": true},
    {"role": "reply", "holds": [[0, 255, 82], [1, 1, 1]], "header": 8, "plus": 8,
     "tag": {"at": 2, "bytes": 2}, "length": [{"at": 4, "bytes": 4}]},
    {"role": "part", "holds": [[0, 255, 82]], "header": 8, "plus": 8,
     "tag": {"at": 2, "bytes": 2}, "length": [{"at": 4, "bytes": 4}]}
]}"#;
const CLIENT: u64 = 1;
const SERVER: u64 = 2;
/// The numbers of both directions pass their highest value.
const FIRST: [u32; 2] = [u32::MAX - 20, u32::MAX - 5000];

fn header(kind: &[u8; 2], tag: u16, length: Option<u32>) -> Vec<u8> {
    let mut bytes = kind.to_vec();
    bytes.extend(tag.to_be_bytes());
    bytes.extend(length.iter().flat_map(|n| n.to_be_bytes()));
    bytes
}

/// Both directions' bytes, and the places of every pair.
#[derive(Clone, Debug, Default)]
struct Talk {
    bytes: [Vec<u8>; 2],
    /// (direction, from, to) in the order they were said.
    said: Vec<(usize, usize, usize)>,
    pairs: Vec<Tagged>,
}

impl Talk {
    fn say(&mut self, way: usize, mut header: Vec<u8>, data: usize) -> (u64, u64) {
        let begin = self.bytes[way].len();
        // Data that looks like headers.
        header.extend(b"QrR\x01".iter().cycle().take(data));
        self.bytes[way].extend(header);
        self.said.push((way, begin, self.bytes[way].len()));
        (begin as u64, self.bytes[way].len() as u64)
    }
}

/// Requests of (kind, bytes), answered in another order, `depth` at once.
fn talk(requests: &[(u8, u32)], depth: usize) -> Talk {
    let mut talk = Talk::default();
    for (chunk, batch) in requests.chunks(depth).enumerate() {
        let mut open = Vec::new();
        for (n, (kind, bytes)) in batch.iter().enumerate() {
            // Tags come again once they are free.
            let tag = (n * 257) as u16;
            let asked = match kind % 3 {
                0 => talk.say(0, header(b"Qr", tag, Some(*bytes)), 0),
                1 => talk.say(0, header(b"Qw", tag, Some(*bytes)), *bytes as usize),
                _ => {
                    let begin = talk.say(0, header(b"Qw", tag, Some(0)), 0).0;
                    talk.say(0, b"O\0\0\0".to_vec(), 0);
                    (begin, talk.say(0, header(b"M\0", tag, Some(*bytes)), *bytes as usize).1)
                }
            };
            open.push((tag, kind % 3, *bytes, asked));
        }
        if chunk % 2 == 0 {
            open.reverse();
        }
        for (tag, kind, bytes, asked) in open {
            let answered = match kind {
                0 if bytes % 2 == 0 => talk.say(1, header(b"r\0", tag, None), bytes as usize),
                0 => {
                    let begin = talk.say(1, header(b"R\0", tag, Some(bytes)), bytes as usize).0;
                    (begin, talk.say(1, header(b"R\x01", tag, Some(0)), 0).1)
                }
                _ => talk.say(1, header(b"R\x01", tag, Some(0)), 0),
            };
            let deed = if kind == 0 { 1 } else { 2 };
            talk.pairs.push(Tagged { client: CLIENT, server: SERVER, asked, answered, deed });
        }
    }
    talk
}

fn protocols() -> Vec<Protocol> {
    vec![serde_json::from_str(TABLE).unwrap()]
}

/// (direction, from, to) in the order they are on the wire.
fn read(talk: &Talk, segments: &[(usize, usize, usize)]) -> Messages {
    let protocols = protocols();
    let mut reader = Reader::new(&protocols, 1 << 20);
    for (way, first) in FIRST.into_iter().enumerate() {
        reader.feed(&segment(way, first, true, 0, &[]));
    }
    for &(way, from, to) in segments {
        let seq = FIRST[way].wrapping_add(1).wrapping_add(from as u32);
        let bytes = &talk.bytes[way][from..to];
        // As few bytes as it asks for, and no more.
        let mut given = 0;
        while let Some(more) = reader.feed(&segment(way, seq, false, bytes.len(), &bytes[..given])) {
            assert!(given < more && more <= bytes.len(), "{given} {more} {}", bytes.len());
            given = more;
        }
    }
    reader.finish()
}

fn segment(way: usize, seq: u32, syn: bool, length: usize, bytes: &[u8]) -> Segment<'_> {
    let (from, to) = if way == 0 { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    Segment { from, to, seq, syn, incoming: true, length, bytes }
}

#[test]
fn data_between_headers_is_not_asked_for() {
    let talk = talk(&[(0, 60_000), (1, 50_000)], 2);
    let protocols = protocols();
    let mut reader = Reader::new(&protocols, 9);
    (0..2).for_each(|way| assert_eq!(reader.feed(&segment(way, FIRST[way], true, 0, &[])), None));
    let seq = |way: usize, at: u32| FIRST[way].wrapping_add(1).wrapping_add(at);
    let all = &talk.bytes[0];
    assert_eq!(reader.feed(&segment(0, seq(0, 0), false, all.len(), &all[..16])), None);
    // The write's data is in it, and nothing of it was needed.
    assert!(all.len() > 50_000);
    let back = &talk.bytes[1];
    assert_eq!(reader.feed(&segment(1, seq(1, 0), false, 1000, &back[..8])), Some(12));
    assert_eq!(reader.feed(&segment(1, seq(1, 0), false, 1000, &back[..12])), None);
    assert_eq!(reader.feed(&segment(1, seq(1, 1000), false, back.len() - 1000, &[])), None);
    let found = reader.finish();
    assert_eq!((found.pairs.len(), found.spoken[0].unmatched), (2, 0));
}

#[test]
fn a_connection_whose_beginning_was_not_seen_and_one_whose_name_came_again_are_left() {
    let talk = talk(&[(0, 4)], 1);
    let protocols = protocols();
    let mut reader = Reader::new(&protocols, 9);
    assert_eq!(reader.feed(&segment(0, 7, false, 8, &talk.bytes[0])), None);
    assert!(reader.finish().spoken.is_empty());
    let mut reader = Reader::new(&protocols, 9);
    for first in [7, 9] {
        (0..2).for_each(|way| assert_eq!(reader.feed(&segment(way, first, true, 0, &[])), None));
        reader.feed(&segment(0, first + 1, false, 8, &talk.bytes[0]));
    }
    let found = reader.finish();
    assert!(found.spoken.is_empty() && found.pairs.is_empty());
}

#[test]
fn what_came_again_is_told_by_its_end_and_not_by_a_place_that_it_passes() {
    let talk = talk(&[(0, 4), (1, 9)], 1);
    let (protocols, (way, from, to)) = (protocols(), talk.said[0]);
    let question = segment(way, FIRST[way].wrapping_add(1), false, to - from, &talk.bytes[way][from..to]);
    // At its end, at a place that it passes, and on the loopback.
    for (ways, told) in [(&[true][..], 1), (&[true, false], 0), (&[false, true], 1)] {
        let mut reader = Reader::new(&protocols, 9);
        let begin = [0, 1].map(|way| segment(way, FIRST[way], true, 0, &[]));
        for one in begin.into_iter().chain([question; 2]) {
            for incoming in ways {
                assert_eq!(reader.feed(&Segment { incoming: *incoming, ..one }), None);
            }
        }
        assert_eq!(reader.finish().again.len(), told, "{ways:?}");
    }
}

#[test]
fn of_two_that_saw_one_connection_the_better_one_counts() {
    let talk = talk(&[(0, 6), (0, 8), (1, 5)], 1);
    let (whole, part) = (read(&talk, &talk.said), read(&talk, &talk.said[..4]));
    for (mut one, other) in [(whole.clone(), part.clone()), (part, whole)] {
        one.merge(other);
        assert_eq!((one.pairs.len(), one.spoken.len(), one.spoken[0].waiting), (3, 1, 0));
    }
}

fn requests() -> impl Strategy<Value = Vec<(u8, u32)>> {
    proptest::collection::vec((0u8..3, 0u32..400), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_question_finds_its_reply_however_the_bytes_are_cut(
        requests in requests(), depth in 1usize..9, cuts in proptest::collection::vec(1usize..300, 1..50),
    ) {
        let talk = talk(&requests, depth);
        let mut cuts = cuts.into_iter().cycle();
        let mut segments = Vec::new();
        // A question is on the wire before its reply, so pieces of what was said go in that order; runs may be joined.
        let mut at = [0usize, 0];
        for (n, &(way, _, to)) in talk.said.iter().enumerate() {
            let follows = talk.said.get(n + 1).is_some_and(|next| next.0 == way);
            if follows && cuts.next().unwrap() % 2 == 0 {
                continue;
            }
            while at[way] < to {
                // A first question is at the beginning of a segment, whole as far as its header.
                let length = if at[way] == 0 { cuts.next().unwrap().max(16) } else { cuts.next().unwrap() };
                let end = (at[way] + length).min(to);
                segments.push((way, at[way], end));
                at[way] = end;
                // Seen at both ends of the wire, or sent twice.
                if length % 3 == 0 {
                    segments.push(*segments.last().unwrap());
                }
            }
        }
        let found = read(&talk, &segments);
        prop_assert_eq!((found.spoken[0].unmatched, found.spoken[0].waiting), (0, 0));
        prop_assert_eq!(found.pairs, talk.pairs);
        // What came again is told with its place among all that came.
        let mut come = [0u64; 2];
        let mut twice = Vec::new();
        for pair in std::iter::once(&(9, 0, 0)).chain(&segments).zip(&segments) {
            let (before, &(way, from, to)) = pair;
            if *before == (way, from, to) {
                let (from, to) = (if way == 0 { CLIENT } else { SERVER }, if way == 0 { SERVER } else { CLIENT });
                twice.push(Again { from, to, at: come[way], bytes: (pair.1.2 - pair.1.1) as i64 });
            }
            come[way] += (to - from) as u64;
        }
        twice.sort_unstable();
        prop_assert_eq!(found.again, twice);
    }

    #[test]
    fn how_far_each_segment_brought_it_is_told_in_whatever_order_they_came(
        pieces in proptest::collection::vec((1usize..40, any::<u16>(), 0usize..3), 1..60),
    ) {
        let talk = talk(&[(1, 3000)], 1);
        // The question, cut, each piece once or several times, shuffled; all of it was sent before.
        let (mut at, mut come) = (0, Vec::new());
        for (length, turn, again) in pieces {
            let end = at + 8 + length;
            come.extend((0..=again).map(|n| (turn.rotate_left(n as u32 * 5), at, end)));
            at = end;
        }
        come.sort_unstable();
        let protocols = protocols();
        let mut reader = Reader::new(&protocols, 9);
        (0..2).for_each(|way| { reader.feed(&segment(way, FIRST[way], true, 0, &[])); });
        let place = |from: usize| FIRST[0].wrapping_add(1).wrapping_add(from as u32);
        reader.feed(&Segment { incoming: false, ..segment(0, place(0), false, at, &talk.bytes[0][..at]) });
        for &(_, from, to) in &come {
            reader.feed(&segment(0, place(from), false, to - from, &talk.bytes[0][from..to]));
        }
        let again = reader.finish().again;
        let (mut there, mut heard, mut sum) = (vec![false; at], 0u64, 0i64);
        for (_, from, to) in come {
            there[from..to].fill(true);
            sum += (to - from) as i64;
            sum -= again.iter().filter(|a| a.at == heard && to > from).map(|a| a.bytes).sum::<i64>();
            heard += (to - from) as u64;
            prop_assert_eq!(sum as usize, there.iter().take_while(|came| **came).count());
        }
    }

    #[test]
    fn what_was_lost_is_counted_and_nothing_is_told_wrong(
        requests in requests(), depth in 1usize..9, lost in proptest::collection::vec(any::<bool>(), 1..60),
    ) {
        let talk = talk(&requests, depth);
        let mut lost = lost.into_iter().cycle();
        let kept: Vec<_> = talk.said.iter().copied().filter(|_| !lost.next().unwrap()).collect();
        let found = read(&talk, &kept);
        // That a question went on can be lost at the very end, where nothing tells of it.
        let same = |a: &Tagged, b: &Tagged| {
            (a.asked.0, a.answered) == (b.asked.0, b.answered) && a.asked.1 <= b.asked.1
        };
        prop_assert!(found.pairs.iter().all(|pair| talk.pairs.iter().any(|true_| same(pair, true_))));
        let counted: u64 = found.spoken.iter().map(|s| s.unmatched + s.waiting).sum();
        // All that was asked behind the last thing that was seen was not seen either.
        let seen = kept.len() == talk.said.len() || counted > 0 || found.pairs.len() == talk.pairs.len();
        prop_assert!(seen || found.spoken.is_empty() || kept.last() != talk.said.last());
    }

    #[test]
    fn any_bytes_end(ways in proptest::collection::vec((0usize..2, any::<u32>(), proptest::collection::vec(any::<u8>(), 0..80)), 0..40)) {
        let protocols = protocols();
        let mut reader = Reader::new(&protocols, 100);
        (0..2).for_each(|way| { reader.feed(&segment(way, 0, true, 0, &[])); });
        for (way, seq, mut bytes) in ways {
            if bytes.len() > 9 {
                bytes[..2].copy_from_slice(if way == 0 { b"Qr" } else { b"R\x01" });
            }
            prop_assert_eq!(reader.feed(&segment(way, seq % 200, false, bytes.len(), &bytes)), None);
        }
        let _ = reader.finish();
    }
}
