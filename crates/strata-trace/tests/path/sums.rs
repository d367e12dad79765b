//! Whatever is recorded, what is told of a request adds up.

use crate::made::{LOWER, UPPER, block, fall, targets};
use proptest::prelude::*;
use strata_trace::event::{Event, Kind as Block};
use strata_trace::flags::Flags;
use strata_trace::mark::{Call, Mark, What};

fn any_what() -> impl Strategy<Value = What> {
    prop_oneof![
        Just(What::Enter(Call::Read, true)),
        Just(What::Enter(Call::Write, false)),
        Just(What::Enter(Call::Ring, false)),
        Just(What::Enter(Call::Submit, false)),
        Just(What::Enter(Call::Reap, false)),
        Just(What::Enter(Call::Send, false)),
        Just(What::Enter(Call::Receive, false)),
        Just(What::Exit),
        Just(What::Taken),
        Just(What::Handed),
        Just(What::Done),
        Just(What::Sent),
        Just(What::Received),
        Just(What::Arrived),
        Just(What::Opened),
        Just(What::Gone),
        Just(What::Forked),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever the kernel says: it ends, and the segments of each request follow each other and add up to it.
    #[test]
    fn segments_add_up_to_their_request(
        marks in proptest::collection::vec((0u64..400, 0u64..4, 0u64..3, 0u64..3, -2i32..40, 9i32..13, any_what()), 0..160),
        events in proptest::collection::vec((0u64..400, 0usize..5, 9i32..13, 0u64..4, any::<bool>(), 0usize..6), 0..120),
    ) {
        let kinds = [Block::Queue, Block::Split, Block::Insert, Block::Issue, Block::Complete];
        // Most are reads; some are flushes, or ask for one.
        let events = events.into_iter().map(|(at, kind, pid, place, low, letters)| {
            let event = block(if low { LOWER } else { UPPER }, kinds[kind], at + 1, pid, place * 8);
            let (letters, sectors): (&[u8], u32) = [(b"F" as &[u8], 0), (b"FWS", 0)].get(letters).copied().unwrap_or((b"R", 8));
            Event { flags: Flags::parse(letters), sectors, ..event }
        });
        let marks = marks.into_iter().map(|(at, a, b, c, n, pid, what)| Mark { at_ns: at + 1, a, b, c, n, m: n.unsigned_abs(), pid, what });
        let found = fall(events.collect(), marks.collect(), &targets());
        for sample in &found.samples {
            let mut at = 0;
            for (layer, _, begin, ns) in &sample.segments {
                prop_assert!(*layer < found.layers.len());
                prop_assert_eq!(*begin, at);
                at += ns;
            }
            prop_assert_eq!(at, sample.ns);
        }
        for group in &found.groups {
            let sum: f64 = group.layers.iter().flat_map(|l| &l.parts).map(|p| p.mean_ns).sum();
            prop_assert!((sum - group.total.mean_ns).abs() < 1e-6 * group.total.mean_ns.max(1.0));
        }
    }
}
