//! A medium of whole blocks: reads that straddle, writes that are read before.

use super::loops::{closed, random};
use super::{MS, Op, SECOND, model};

const K: u64 = 1024;

#[test]
fn what_begins_and_ends_at_blocks_costs_nothing_more() {
    for op in [Op::Read, Op::Write] {
        let (mut plain, mut blocks) =
            (model("c=2 svc=100 bw=50"), model("c=2 svc=100 bw=50 block=4KiB block_svc=900"));
        let (a, b) =
            (closed(&mut plain, op, 4, 0, 0, random(8 * K)), closed(&mut blocks, op, 4, 0, 0, random(8 * K)));
        assert_eq!(a.latencies_ns, b.latencies_ns);
        let seen = blocks.truth(SECOND).block;
        assert_eq!((seen.straddled, seen.rmw.n), (0, 0));
    }
}

#[test]
fn a_read_off_the_boundary_is_one_block_more() {
    let mut model = model("svc=100 bw=4.096 block=4KiB block_svc=50");
    // Three blocks at 1 ms each, and 50 µs for the one that is too many.
    assert_eq!(model.serve(0, Op::Read, 512, 8 * K).svc_ns, 3 * MS + 150_000);
    // Less than a block is a block; across a boundary it is two.
    assert_eq!(model.serve(SECOND, Op::Read, 4 * K + 512, 512).svc_ns, MS + 100_000);
    assert_eq!(model.serve(2 * SECOND, Op::Read, 4 * K - 512, K).svc_ns, 2 * MS + 150_000);
    let seen = model.truth(3 * SECOND).block;
    assert_eq!((seen.read, seen.written, seen.straddled, seen.rmw.n), (6, 0, 2, 0));
}

#[test]
fn a_write_off_the_boundary_reads_both_its_ends_before() {
    let mut model = model("svc=100 bw=4.096 block=4KiB block_svc=50");
    assert_eq!(model.serve(0, Op::Write, 512, 8 * K).svc_ns, 5 * MS + 250_000);
    let seen = model.truth(SECOND).block;
    assert_eq!((seen.read, seen.written, seen.straddled), (2, 3, 1));
    assert_eq!((seen.rmw.n, seen.rmw.ns), (2, 2 * MS + 100_000));
    // One end at a boundary: one. Inside one block, cut at both ends: one.
    for (offset, len) in [(8 * K, 512), (8 * K - 512, 512), (9 * K, K), (16 * K, 4 * K + 512)] {
        model.reset(2 * SECOND);
        model.serve(2 * SECOND, Op::Write, offset, len);
        assert_eq!(model.truth(3 * SECOND).block.rmw.n, 1, "{offset} {len}");
    }
}

#[test]
fn larger_io_pays_the_same_ends_once() {
    let longest = |offset: u64, len: u64| {
        let mut model = model("c=4 svc=800 block=4KiB block_svc=800");
        let mut places = random(len);
        closed(&mut model, Op::Write, 8, 0, 0, move |i| {
            let (at, len) = places(i);
            (at.min(super::SIZE - 2 * len) + offset, len)
        })
        .latencies_ns[8..]
            .iter()
            .max()
            .copied()
    };
    // One service, and three blocks more: four times as long, whatever the size.
    for len in [8 * K, 256 * K] {
        assert_eq!((longest(0, len), longest(512, len)), (Some(2 * 800_000), Some(2 * 3_200_000)), "{len}");
    }
}

#[test]
fn members_each_see_their_own_blocks() {
    let mut model = model("svc=100 members=2 stripe=64KiB block=64KiB block_svc=100");
    // 64 KiB off the stripe's boundary: a part at each member, and both are cut.
    model.serve(0, Op::Write, 4 * K, 64 * K);
    let truth = model.truth(SECOND);
    assert_eq!((truth.block.rmw.n, truth.block.straddled, truth.block.written), (2, 0, 2));
    assert_eq!(truth.members.iter().map(|m| m.n).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn a_platter_has_to_come_round_for_a_block_that_was_read_before() {
    let words = "c=1 seek=8000 settle=1000 rpm=6000 bw=100 block=4KiB";
    let mean_us = |offset: u64| {
        let mut model = model(words);
        let mut places = random(8 * K);
        let seen = closed(&mut model, Op::Write, 1, 0, 0, move |i| {
            let (at, len) = places(i);
            (at.min(super::SIZE - 2 * len) + offset, len)
        });
        (seen.mean_us(), model.truth(SECOND).head.rotations_lost)
    };
    let ((aligned, none), (off, lost)) = (mean_us(0), mean_us(512));
    // A turn of 10 ms more.
    assert!((9_000.0..11_000.0).contains(&(off - aligned)), "{aligned} {off}");
    assert!(none < 5 && lost > 20, "{none} {lost}");
}

#[test]
fn a_slow_member_is_slow_at_all_of_it_and_a_cache_hides_it_until_it_drains() {
    let mut lame = model("svc=100 block=4KiB block_svc=100 lame=0 lame_factor=3");
    assert_eq!(lame.serve(0, Op::Write, 512, 4 * K).svc_ns, 3 * 400_000);
    assert_eq!(lame.truth(SECOND).block.rmw.ns, 600_000);
    let mut cached = model("svc=100 block=4KiB block_svc=100 wcache=1MiB wcache_svc=5");
    assert_eq!(cached.serve(0, Op::Write, 512, 4 * K).svc_ns, 5_000);
    cached.flush(0);
    assert_eq!(cached.truth(SECOND).block.rmw.n, 2);
}
