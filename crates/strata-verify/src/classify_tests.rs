//! The definitions of the faults, as properties.

use super::*;
use proptest::prelude::*;

const LAYOUT: Layout = Layout { run: 77, first_byte: 1 << 20, block_bytes: 4096, sector_bytes: 512 };
const AT: u64 = (1 << 20) + 5 * 4096;

fn block(generation: u64) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    LAYOUT.write(&mut bytes, AT, generation);
    bytes
}

/// The first `sectors` of one generation, the rest of another.
fn mixed(first: u64, rest: u64, sectors: usize) -> Vec<u8> {
    let mut bytes = block(first);
    bytes[sectors * 512..].copy_from_slice(&block(rest)[sectors * 512..]);
    bytes
}

fn expect(must: u64, may: u64, seen: u64) -> Expect {
    Expect { must, may, seen, atomic: false }
}

fn judge(bytes: &[u8], expect: Expect) -> Verdict {
    classify(&LAYOUT, AT, bytes, expect)
}

proptest! {
    #[test]
    fn one_generation(must in 0u64..6, more in 0u64..3, seen in 0u64..6, found in 1u64..10) {
        let may = must + more;
        let seen = seen.min(may);
        let verdict = judge(&block(found), expect(must, may, seen));
        if found > may {
            let newer = matches!(verdict, Verdict::Faulty(Fault::Foreign { what: Foreign::NeverWritten { .. }, .. }));
            prop_assert!(newer);
        } else if found >= must.max(seen) {
            prop_assert_eq!(verdict, Verdict::Whole(found));
        } else if found < seen {
            prop_assert_eq!(verdict, Verdict::Faulty(Fault::Stale { expected: must.max(seen), found, seen }));
        } else {
            prop_assert_eq!(verdict, Verdict::Faulty(Fault::Lost { expected: must, found }));
        }
    }

    #[test]
    fn two_generations(a in 1u64..6, b in 1u64..6, cut in 1usize..8, must in 0u64..6, atomic: bool) {
        prop_assume!(a != b);
        let may = a.max(b).max(must);
        let verdict = judge(&mixed(a, b, cut), Expect { must, may, seen: 0, atomic });
        if a.min(b) >= must && !atomic {
            prop_assert_eq!(verdict, Verdict::TornInFlight);
        } else {
            let old_sectors = if a < b { cut } else { 8 - cut } as u32;
            let torn = Fault::Torn { oldest: a.min(b), newest: a.max(b), old_sectors };
            prop_assert_eq!(verdict, Verdict::Faulty(torn));
        }
    }

    #[test]
    fn another_blocks_data(block in 0u64..1000, generation in 1u64..9, must in 0u64..9, wide in 1usize..=8) {
        let from = LAYOUT.offset(block);
        prop_assume!(from != AT);
        let mut theirs = vec![0; 4096];
        LAYOUT.write(&mut theirs, from, generation);
        let mut bytes = self::block(must.max(1));
        bytes[..wide * 512].copy_from_slice(&theirs[..wide * 512]);
        let named = Fault::Misdirected { from, generation, sectors: wide as u32 };
        prop_assert_eq!(judge(&bytes, expect(must, must.max(1), 0)), Verdict::Faulty(named));
    }

    #[test]
    fn changed_bytes_are_counted(places in prop::collection::btree_set(0usize..4096, 1..100), must in 1u64..5) {
        let mut bytes = block(must);
        for &at in &places {
            bytes[at] ^= 0x5a;
        }
        let first = AT + *places.first().expect("one at least") as u64;
        let sectors: std::collections::BTreeSet<usize> = places.iter().map(|at| at / 512).collect();
        let named = Fault::Corrupted { bytes: places.len() as u64, first, sectors: sectors.len() as u32 };
        prop_assert_eq!(judge(&bytes, expect(must, must, must)), Verdict::Faulty(named));
    }

    #[test]
    fn what_was_written_is_never_a_fault(history in prop::collection::vec(any::<bool>(), 0..20), cut in 0usize..=8) {
        // A block is written again and again; some writes are acknowledged. Then the target shows any state that an
        // honest one may show: anything from the last acknowledged write on.
        let may = history.len() as u64;
        let must = history.iter().rposition(|&acked| acked).map_or(0, |at| at as u64 + 1);
        for low in must.max(1)..=may {
            for high in low..=may {
                let verdict = judge(&mixed(low, high, cut), expect(must, may, must));
                prop_assert!(!matches!(verdict, Verdict::Faulty(_)), "{verdict:?}");
            }
        }
    }
}

#[test]
fn before_the_first_write_anything_may_be_there() {
    for bytes in [vec![0; 4096], vec![9; 4096]] {
        assert_eq!(judge(&bytes, expect(0, 0, 0)), Verdict::Unwritten);
        assert_eq!(judge(&bytes, expect(0, 1, 0)), Verdict::Unwritten);
        let mut torn = bytes.clone();
        torn[..1024].copy_from_slice(&block(1)[..1024]);
        assert_eq!(judge(&torn, expect(0, 1, 0)), Verdict::TornInFlight);
        let named = Fault::Torn { oldest: 0, newest: 1, old_sectors: 6 };
        assert_eq!(judge(&torn, expect(1, 1, 0)), Verdict::Faulty(named));
        assert!(matches!(judge(&torn, expect(1, 1, 1)), Verdict::Faulty(Fault::Foreign { sectors: 6, .. })));
    }
}

#[test]
fn data_of_others_is_foreign_once_a_write_was_promised() {
    let named = |bytes: &[u8]| match judge(bytes, expect(1, 1, 0)) {
        Verdict::Faulty(Fault::Foreign { what, sectors: 8 }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(named(&[0; 4096]), Foreign::Zeroes);
    assert_eq!(named(&[9; 4096]), Foreign::Unstamped);
    let mut bytes = vec![0; 4096];
    Layout { run: 78, ..LAYOUT }.write(&mut bytes, AT, 1);
    assert_eq!(named(&bytes), Foreign::OtherRun { run: 78 });
}

#[test]
fn a_sector_that_lost_its_magic_is_corrupted_not_foreign() {
    let mut bytes = block(2);
    bytes[512..520].fill(0);
    let named = Fault::Corrupted { bytes: 7, first: AT + 512, sectors: 1 };
    assert_eq!(judge(&bytes, expect(2, 2, 0)), Verdict::Faulty(named));
}
