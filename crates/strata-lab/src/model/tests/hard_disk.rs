//! What follows from a head and a platter.

use super::loops::{closed, random, sequential, swapped};
use super::{MS, Op, SECOND, SIZE, model};

/// 7200 rpm: a turn is 8.33 ms, a track of 1.25 MB.
const DISK: &str = "c=1 svc=50 seek=8000 settle=1000 rpm=7200 bw=150";
const KIB64: u64 = 65536;

#[test]
fn random_io_costs_a_seek_and_half_a_turn() {
    let seen = closed(&mut model(DISK), Op::Read, 1, 0, 0, random(4096));
    // 50 µs + 8 ms + 4.17 ms + 27 µs = 12.2 ms.
    assert!((seen.mean_us() - 12_240.0).abs() < 1000.0, "{}", seen.mean_us());
    let mut without_platter = model("c=1 seek=4000 bw=150");
    let seen = closed(&mut without_platter, Op::Read, 1, 0, 0, random(4096));
    assert!((seen.iops() - 248.0).abs() < 15.0, "{}", seen.iops());
}

#[test]
fn queued_sequential_writes_run_at_the_speed_of_the_medium() {
    let mut model = model(DISK);
    let seen = closed(&mut model, Op::Write, 4, 0, 0, sequential(KIB64));
    assert!(seen.mb_s() > 147.0, "{}", seen.mb_s());
    // The first finds the platter anywhere.
    assert!(model.truth(SECOND).head.rotations_lost <= 1);
}

#[test]
fn a_write_that_comes_late_loses_a_turn() {
    let mut model = model(DISK);
    let seen = closed(&mut model, Op::Write, 1, 100_000, 0, sequential(KIB64));
    // A turn and a transfer, 8.77 ms, for each block.
    assert!((seen.iops() - 114.0).abs() <= 1.0, "{}", seen.iops());
    assert!(model.truth(SECOND).head.rotations_lost >= 112);
}

#[test]
fn reordered_sequential_writes_are_many_times_slower() {
    let in_order = closed(&mut model(DISK), Op::Write, 4, 0, 0, sequential(KIB64));
    let mut disk = model(DISK);
    let reordered = closed(&mut disk, Op::Write, 4, 0, 0, swapped(KIB64));
    assert!(in_order.mb_s() / reordered.mb_s() > 8.0, "{} {}", in_order.mb_s(), reordered.mb_s());
    // Block 1 is before block 0, and 2 comes after 3: about a turn lost a pair.
    let truth = disk.truth(SECOND);
    assert!(truth.head.rotations_lost * 2 >= truth.write.n - 8, "{truth:?}");
    assert!(truth.write.sequential <= 1);
}

#[test]
fn two_streams_seek_between_them() {
    let alone = closed(&mut model(DISK), Op::Write, 4, 0, 0, sequential(1 << 20));
    let two = |i: u64| ((i % 2) * (SIZE / 2) + i / 2 * (1 << 20), 1 << 20);
    let both = closed(&mut model(DISK), Op::Write, 4, 0, 0, two);
    assert!(both.mb_s() < 0.6 * alone.mb_s(), "{} {}", both.mb_s(), alone.mb_s());
    assert!(both.mb_s() > 0.2 * alone.mb_s(), "{} {}", both.mb_s(), alone.mb_s());
}

#[test]
fn reading_ahead_makes_up_for_a_reader_that_pauses() {
    let paused = |words: &str| {
        closed(&mut model(&format!("{DISK} {words}")), Op::Read, 1, 100_000, 0, sequential(KIB64)).mb_s()
    };
    assert!(paused("") < 10.0);
    assert!(paused("ahead=2MiB") > 140.0, "{}", paused("ahead=2MiB"));
}

#[test]
fn reading_ahead_is_no_faster_than_the_medium_and_ends_with_its_buffer() {
    let mut disk = model(&format!("{DISK} ahead=1MiB"));
    disk.serve(0, Op::Read, 0, KIB64);
    // A long pause: the buffer is full and not fuller.
    let mut read = |blocks: std::ops::Range<u64>, begin| {
        blocks.fold(begin, |now, block| disk.serve(now, Op::Read, block * KIB64, KIB64).done_ns)
    };
    let begin = read(1..17, 10 * SECOND);
    assert!(begin - 10 * SECOND < 2 * MS, "the buffer's content: {begin}");
    let now = read(17..177, begin);
    let mb_s = (160 * KIB64) as f64 * 1e3 / (now - begin) as f64;
    assert!(mb_s < 165.0, "{mb_s}");
    assert!(disk.truth(now).head.read_ahead > 170);
}

#[test]
fn a_write_between_two_reads_ends_the_reading_ahead() {
    let mut disk = model(&format!("{DISK} ahead=2MiB"));
    disk.serve(0, Op::Read, 0, KIB64);
    disk.serve(SECOND, Op::Write, SIZE / 2, KIB64);
    disk.serve(2 * SECOND, Op::Read, KIB64, KIB64);
    assert_eq!(disk.truth(3 * SECOND).head.read_ahead, 0);
    assert!(disk.truth(3 * SECOND).head.seek.n >= 2);
}

#[test]
fn longer_ways_take_longer() {
    let mut disk = model("c=1 seek=8000 settle=1000");
    let seek = |disk: &mut super::Model, from: u64, to: u64, at: u64| {
        disk.serve(at, Op::Read, from, 4096);
        disk.serve(at + SECOND, Op::Read, to, 4096).svc_ns
    };
    let near = seek(&mut disk, 0, 10 << 20, 0);
    let far = seek(&mut disk, 0, SIZE - 4096, 10 * SECOND);
    // √distance over its mean: 1000 + 7000·√1/(8/15) µs for the whole stroke.
    assert!((far as f64 / 1e3 - 14_125.0).abs() < 5.0, "{far}");
    assert!(near < far / 3 && near > MS, "{near}");
}

#[test]
fn a_write_cache_before_a_head_hides_the_lost_turns_until_it_is_full() {
    let words = format!("{DISK} wcache=8MiB wcache_svc=20");
    let mut disk = model(&words);
    // In order and paused by less than a block takes: the medium keeps up, nothing waits.
    let seen = closed(&mut disk, Op::Write, 1, 500_000, 0, sequential(KIB64));
    assert!(seen.mean_us() < 30.0, "{}", seen.mean_us());
    let mut disk = model(&words);
    let seen = closed(&mut disk, Op::Write, 1, 500_000, 0, swapped(KIB64));
    let first = seen.latencies_ns[..100].iter().max().unwrap();
    let last = seen.latencies_ns[seen.latencies_ns.len() - 20..].iter().max().unwrap();
    assert!(*first < 50_000 && *last > MS, "{first} {last}");
}
