//! What a workload asks for is what its threads draw, shown by counting.

use std::collections::{HashMap, HashSet};

use strata_pattern::{
    Access, Area, BlockMap, Cut, Distribution, Flush, Io, Mix, Op, Order, Pattern, Segment, Size, Sizes,
    Span, Stride, Zone,
};

const BLOCK: u64 = 4096;

fn whole(blocks: u64) -> Vec<Segment> {
    vec![Segment { start: 0, length: blocks * BLOCK, target: 0 }]
}

fn map(blocks: u64) -> BlockMap {
    BlockMap::new(&whole(blocks), BLOCK).expect("blocks")
}

fn pattern(blocks: u64, order: Order) -> Pattern {
    Pattern::new(map(blocks), order, Mix::Read, 1)
}

fn draws(pattern: &Pattern, thread: u32, threads: u32, n: usize) -> Vec<Io> {
    let mut access = pattern.access(thread, threads).expect("blocks");
    (0..n).map(|_| access.draw()).collect()
}

fn blocks_of(pattern: &Pattern, thread: u32, threads: u32, n: usize) -> Vec<u64> {
    draws(pattern, thread, threads, n).iter().map(|io| io.offset() / BLOCK).collect()
}

/// Every order there is, over 1000 blocks.
fn orders() -> Vec<Order> {
    vec![
        Order::Sequential,
        Order::Strided(Stride { stride: Some(3 * BLOCK), thread_offset: Some(7 * BLOCK) }),
        Order::Interlocked,
        Order::Random,
        Order::Once,
        Order::Zipf(1.1),
        Order::Zones(vec![Zone { access: 90.0, span: Span::Percent(10.0) }]),
    ]
}

#[test]
fn every_order_stays_inside_and_repeats_by_its_seed() {
    for order in orders() {
        let draw =
            |seed, thread| blocks_of(&Pattern { seed, ..pattern(1000, order.clone()) }, thread, 3, 500);
        assert!(draw(1, 0).iter().all(|&block| block < 1000), "{order:?}");
        let again = pattern(1000, order.clone());
        assert_eq!(draw(1, 2), blocks_of(&again, 2, 3, 500), "{order:?}");
        if !matches!(order, Order::Sequential | Order::Strided(_) | Order::Interlocked) {
            for (a, b) in [(draw(1, 0), draw(1, 1)), (draw(1, 0), draw(2, 0))] {
                // Unrelated: equal blocks at equal places are rare (a hot block of Zipf is not).
                let same = a.iter().zip(&b).filter(|(a, b)| a == b).count();
                assert!(same < 100, "{order:?}: {same}");
            }
        }
    }
}

#[test]
fn sequential_wraps_inside_its_part() {
    let sequence = pattern(10, Order::Sequential);
    assert_eq!(blocks_of(&sequence, 1, 3, 5), [3, 4, 5, 3, 4]);
    assert!(sequence.access(0, 11).is_none());
}

#[test]
fn strides_leave_gaps_and_threads_begin_apart() {
    let stride = |stride, thread_offset| pattern(10, Order::Strided(Stride { stride, thread_offset }));
    // Holes of two blocks; each thread within its own part.
    assert_eq!(blocks_of(&stride(Some(3 * BLOCK), None), 0, 2, 4), [0, 3, 0, 3]);
    // Two threads that take turns over the whole range.
    let turns = stride(Some(2 * BLOCK), Some(BLOCK));
    assert_eq!(blocks_of(&turns, 0, 2, 6), [0, 2, 4, 6, 8, 0]);
    assert_eq!(blocks_of(&turns, 1, 2, 6), [1, 3, 5, 7, 9, 1]);
    // Without gaps from a beginning of one's own.
    assert_eq!(blocks_of(&stride(None, Some(8 * BLOCK)), 1, 2, 3), [8, 9, 8]);
    assert!(stride(None, Some(8 * BLOCK)).access(2, 3).is_none());
}

#[test]
fn interlocked_threads_share_one_sequence() {
    let shared = pattern(100, Order::Interlocked);
    let mut threads: Vec<Access> = (0..3).map(|t| shared.access(t, 3).expect("blocks")).collect();
    let taken: Vec<u64> = (0..250usize).map(|n| threads[n * n % 3].draw().offset() / BLOCK).collect();
    assert!(taken.iter().enumerate().all(|(n, &block)| block == n as u64 % 100), "{taken:?}");
}

#[test]
fn interlocked_threads_that_run_at_once_leave_nothing_out() {
    let shared = pattern(40_000, Order::Interlocked);
    let mut all: Vec<u64> = std::thread::scope(|scope| {
        let run = |t| {
            let shared = &shared;
            scope.spawn(move || blocks_of(shared, t, 4, 10_000))
        };
        let running: Vec<_> = (0..4).map(run).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    all.sort_unstable();
    assert!(all.into_iter().eq(0..40_000));
}

#[test]
fn random_covers_and_replaces() {
    let mut seen = [0u32; 10];
    blocks_of(&pattern(10, Order::Random), 0, 1, 10_000).iter().for_each(|&b| seen[b as usize] += 1);
    assert!(seen.iter().all(|n| n.abs_diff(1000) < 150), "{seen:?}");
    let once: HashSet<u64> = blocks_of(&pattern(10_000, Order::Random), 0, 1, 10_000).into_iter().collect();
    // 1 − 1/e of them.
    assert!(once.len().abs_diff(6321) < 200, "{}", once.len());
}

#[test]
fn coverage_touches_each_block_once_in_each_pass() {
    let cover = pattern(1000, Order::Once);
    // Three threads share a pass: 334, 333 and 333 blocks.
    let shares: Vec<Vec<u64>> =
        (0..3).map(|t| blocks_of(&cover, t, 3, 2 * (1002 - t as usize) / 3)).collect();
    for pass in 0..2 {
        let part = |t: usize| {
            let n = (1002 - t) / 3;
            shares[t][pass * n..(pass + 1) * n].iter().copied()
        };
        let seen: HashSet<u64> = (0..3).flat_map(part).collect();
        assert_eq!(seen.len(), 1000, "pass {pass}");
    }
    assert_ne!(shares[0][..300], shares[0][334..634]);
    assert!(cover.access(0, 1001).is_some() && cover.access(1000, 1001).is_none());
}

#[test]
fn threads_of_a_zipf_share_the_hot_blocks_and_they_are_scattered() {
    let zipf = pattern(10_000, Order::Zipf(1.2));
    let hottest = |thread| {
        let mut seen = HashMap::new();
        blocks_of(&zipf, thread, 2, 20_000).into_iter().for_each(|b| *seen.entry(b).or_insert(0u32) += 1);
        let mut seen: Vec<(u32, u64)> = seen.into_iter().map(|(block, n)| (n, block)).collect();
        seen.sort_unstable_by(|a, b| b.cmp(a));
        seen.into_iter().take(5).map(|(_, block)| block).collect::<HashSet<u64>>()
    };
    assert_eq!(hottest(0), hottest(1));
    let hot = hottest(0);
    assert!(hot.iter().all(|block| !hot.contains(&(block + 1))), "{hot:?}");
}

#[test]
fn the_mix_is_kept() {
    for (mix, low, high) in [
        (Mix::Read, 20_000, 20_000),
        (Mix::Write, 0, 0),
        (Mix::ReadPercent(100), 20_000, 20_000),
        (Mix::ReadPercent(0), 0, 0),
        (Mix::ReadPercent(70), 13_675, 14_325),
        (Mix::Bursts(70, 4), 13_350, 14_650),
    ] {
        let mixed = Pattern { mix, ..pattern(10, Order::Sequential) };
        let reads = draws(&mixed, 0, 1, 20_000).iter().filter(|io| io.op() == Op::Read).count();
        assert!((low..=high).contains(&reads), "{mix:?}: {reads}");
    }
}

#[test]
fn bursts_have_one_direction() {
    let ios = draws(&Pattern { mix: Mix::Bursts(50, 7), ..pattern(10, Order::Random) }, 0, 1, 700);
    assert!(ios.chunks(7).all(|burst| burst.iter().all(|io| io.op() == burst[0].op())));
    let turns = ios.chunks(7).zip(ios.chunks(7).skip(1)).filter(|(a, b)| a[0].op() != b[0].op()).count();
    assert!((25..75).contains(&turns), "{turns}");
}

#[test]
fn the_places_do_not_depend_on_the_mix() {
    let places = |mix| blocks_of(&Pattern { mix, ..pattern(1000, Order::Random) }, 0, 1, 200);
    assert_eq!(places(Mix::Read), places(Mix::ReadPercent(30)));
}

fn split() -> Sizes {
    let size = |blocks: u64, weight| Size { bytes: (blocks * BLOCK) as u32, weight };
    Sizes { read: vec![size(1, 60), size(2, 30), size(4, 10)], write: vec![size(4, 1)] }
}

fn split_map(segments: &[Segment]) -> BlockMap {
    BlockMap::cut(segments, Cut { step: BLOCK, length: 4 * BLOCK, shift: 0 }).expect("blocks")
}

#[test]
fn lengths_have_their_shares_in_each_direction() {
    let area = Area::new(split_map(&whole(100)), 1);
    let pattern = Pattern::over(vec![area], Order::Random, split(), Mix::ReadPercent(50), 1);
    assert_eq!((pattern.longest(), pattern.mean_bytes()), (16_384, 0.5 * 1.6 * 4096.0 + 0.5 * 16_384.0));
    let mut seen: HashMap<(Op, u64), u32> = HashMap::new();
    for io in draws(&pattern, 0, 1, 40_000) {
        assert!(io.offset() + u64::from(io.len()) <= 100 * BLOCK);
        *seen.entry((io.op(), u64::from(io.len()) / BLOCK)).or_default() += 1;
    }
    for (op, blocks, expected) in
        [(Op::Read, 1, 12_000), (Op::Read, 2, 6_000), (Op::Read, 4, 2_000), (Op::Write, 4, 20_000)]
    {
        assert!(seen[&(op, blocks)].abs_diff(expected) < 500, "{seen:?}");
    }
    assert_eq!(seen.len(), 4);
}

#[test]
fn a_sequence_of_several_lengths_leaves_no_gap() {
    // Two runs at the target: at the end of one the sequence goes on with the next.
    let segments = [
        Segment { start: 0, length: 10 * BLOCK, target: 1 << 30 },
        Segment { start: 10 * BLOCK, length: 10 * BLOCK, target: 1 << 20 },
    ];
    for order in [Order::Sequential, Order::Interlocked] {
        let area = Area::new(split_map(&segments), 1);
        let ios = draws(&Pattern::over(vec![area], order.clone(), split(), Mix::Read, 1), 0, 1, 400);
        let follows = |pair: &&[Io]| pair[0].offset() + u64::from(pair[0].len()) == pair[1].offset();
        let gapless = ios.windows(2).filter(follows).count();
        // A run holds about five of them, and each end of a run breaks the sequence.
        assert!(gapless > 280, "{order:?}: {gapless}");
        for io in ios {
            let run = if io.offset() >= 1 << 30 { 1 << 30 } else { 1 << 20 };
            assert!(io.offset() >= run && io.offset() + u64::from(io.len()) <= run + 10 * BLOCK);
        }
    }
}

#[test]
fn deliberately_off_alignment() {
    let map = BlockMap::cut(&whole(9), Cut { step: BLOCK, length: BLOCK, shift: 512 }).expect("blocks");
    let pattern = Pattern::new(map, Order::Sequential, Mix::Read, 1);
    assert_eq!(pattern.misaligned(0, 512), None);
    assert_eq!(pattern.misaligned(0, 4096), Some(512));
    let offsets: Vec<u64> = draws(&pattern, 0, 1, 9).iter().map(|io| io.offset()).collect();
    assert!(offsets[..8].iter().enumerate().all(|(n, &o)| o == 512 + n as u64 * BLOCK) && offsets[8] == 512);
}

fn areas(weights: &[u32]) -> Vec<Area> {
    let area = |(n, &weight): (usize, &u32)| Area::new(map(100 * (n as u64 + 1)), weight);
    weights.iter().enumerate().map(area).collect()
}

#[test]
fn targets_have_their_shares_and_blocks_of_their_own() {
    for order in orders() {
        let sizes = Sizes::one(BLOCK as u32);
        let pattern = Pattern::over(areas(&[1, 0, 3]), order.clone(), sizes, Mix::Read, 1);
        let mut seen = [0u32; 3];
        let mut sequence = Vec::new();
        for io in draws(&pattern, 0, 1, 8000) {
            seen[usize::from(io.target())] += 1;
            assert!(io.offset() + BLOCK <= pattern.end(io.target()), "{order:?}");
            if io.target() == 0 {
                sequence.push(io.offset() / BLOCK);
            }
        }
        assert!(seen[0].abs_diff(2000) < 200 && seen[1] == 0, "{order:?}: {seen:?}");
        if matches!(order, Order::Sequential | Order::Interlocked) {
            assert!(sequence.iter().enumerate().all(|(n, &block)| block == n as u64 % 100), "{order:?}");
        }
    }
}

#[test]
fn a_target_of_its_own_for_each_thread() {
    let sizes = Sizes::one(BLOCK as u32);
    let pattern = Pattern {
        distribution: Distribution::Thread,
        ..Pattern::over(areas(&[1, 1, 1]), Order::Sequential, sizes, Mix::Read, 1)
    };
    // Threads 1 and 4 share the second target, of 200 blocks; thread 2 has the third to itself.
    for (thread, target, first) in [(1u32, 1u16, 0u64), (4, 1, 100), (2, 2, 0), (0, 0, 0), (3, 0, 50)] {
        let io = pattern.access(thread, 5).expect("blocks").draw();
        assert_eq!((io.target(), io.offset() / BLOCK), (target, first), "thread {thread}");
    }
}

#[test]
fn a_flush_follows_every_so_many_writes_to_a_target() {
    let sizes = Sizes::one(BLOCK as u32);
    for order in orders() {
        let pattern = Pattern {
            flush: Some(Flush { op: Op::Fdatasync, every: 5 }),
            ..Pattern::over(areas(&[1, 1]), order.clone(), sizes.clone(), Mix::ReadPercent(50), 1)
        };
        let ios = draws(&pattern, 0, 1, 4400);
        let mut writes = [0u32; 2];
        let mut last = Io::default();
        for io in &ios {
            match io.op() {
                Op::Write => writes[usize::from(io.target())] += 1,
                Op::Fdatasync => {
                    assert_eq!((io.len(), std::mem::take(&mut writes[usize::from(io.target())])), (0, 5));
                    assert_eq!(
                        (last.op(), last.target()),
                        (Op::Write, io.target()),
                        "at once behind the fifth"
                    );
                }
                _ => {}
            }
            assert!(writes.iter().all(|&n| n <= 5));
            last = *io;
        }
        let flushes = ios.iter().filter(|io| io.op() == Op::Fdatasync).count();
        assert!(flushes.abs_diff(400) < 30, "{order:?}: {flushes}");
        assert!((pattern.mean_bytes() - 4096.0 / 1.1).abs() < 1e-9);
    }
    let reads = Pattern { flush: Some(Flush { op: Op::Fsync, every: 1 }), ..pattern(10, Order::Random) };
    let ios = draws(&reads, 0, 1, 100);
    assert!(ios.iter().all(|io| io.op() == Op::Read));
}

#[test]
fn what_is_drawn_does_not_depend_on_how_it_is_asked_for() {
    let map = BlockMap::new(&[Segment { start: 0, length: 1 << 20, target: 0 }], 4096).unwrap();
    let pattern = Pattern::new(map, Order::Random, Mix::Read, 1);
    let (mut one_by_one, mut in_batches) = (pattern.access(0, 1).unwrap(), pattern.access(0, 1).unwrap());
    for most in (1..30).cycle().take(500) {
        let batch: Vec<Io> = in_batches.ahead(most).to_vec();
        in_batches.used(batch.len());
        let singly: Vec<Io> = batch.iter().map(|_| one_by_one.draw()).collect();
        assert_eq!(batch, singly);
    }
}
