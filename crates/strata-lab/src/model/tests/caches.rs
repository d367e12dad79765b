//! The caches: what they hide, and where that ends.

use super::loops::{closed, random, sequential};
use super::{MS, Op, SECOND, model};

#[test]
fn a_write_cache_acknowledges_until_it_is_full() {
    let mut model = model("svc=1000 wcache=16MiB wcache_svc=20 drain=50");
    let seen = closed(&mut model, Op::Write, 1, 0, 0, sequential(65536));
    // 16 MiB at once (and what drains meanwhile), then 50 MB/s.
    let cliff = seen.latencies_ns.iter().position(|&latency| latency > 20_000).unwrap();
    assert!((256..262).contains(&cliff), "{cliff}");
    assert!(seen.latencies_ns[..cliff].iter().all(|&latency| latency == 20_000));
    let after = &seen.latencies_ns[cliff + 10..];
    let mb_s = 65536e3 / (after.iter().sum::<u64>() as f64 / after.len() as f64);
    assert!((mb_s - 50.0).abs() < 0.5, "{mb_s}");
    let truth = model.truth(SECOND);
    assert!((cliff as u64..=cliff as u64 + 1).contains(&truth.write_cache.absorbed), "{truth:?}");
    assert!(truth.write_cache.dirty_bytes > 15 << 20);
    assert!(truth.write_cache.full_ns > 8 * SECOND / 10);
}

#[test]
fn a_flush_waits_until_the_cache_is_empty() {
    let mut model = model("wcache=16MiB wcache_svc=0 drain=100 flush=500");
    for i in 0..10 {
        model.serve(0, Op::Write, i * 100_000, 100_000);
    }
    assert_eq!(model.flush(0), 10 * MS + 500_000);
    assert_eq!(model.flush(20 * MS), 20 * MS + 500_000);
    let truth = model.truth(20 * MS);
    assert_eq!((truth.flush.n, truth.flush.ns), (2, 11 * MS));
    assert_eq!(truth.write_cache.dirty_bytes, 0);
}

#[test]
fn small_writes_drain_by_their_number() {
    let mut model = model("wcache=1MiB drain_svc=250");
    let seen = closed(&mut model, Op::Write, 8, 0, 0, random(4096));
    let (early, late): (Vec<u64>, Vec<u64>) =
        (seen.latencies_ns[..200].into(), seen.latencies_ns[400..].into());
    assert!(early.iter().all(|&latency| latency <= 20_000));
    let mean = late.iter().sum::<u64>() / late.len() as u64;
    // 4000 a second, eight under way: 2 ms.
    assert!((mean as i64 - 2 * MS as i64).abs() < 100_000, "{mean}");
}

#[test]
fn a_write_larger_than_its_cache_waits_for_all_of_it() {
    let mut model = model("wcache=64KiB wcache_svc=0 drain=100");
    assert_eq!(model.serve(0, Op::Write, 0, 1_000_000).done_ns, 0);
    assert_eq!(model.serve(0, Op::Write, 0, 4096).done_ns, 10 * MS);
}

#[test]
fn without_a_rate_of_its_own_a_cache_drains_through_the_medium() {
    let mut model = model("svc=1000 wcache=1MiB wcache_svc=0");
    assert_eq!(model.serve(0, Op::Write, 0, 4096).done_ns, 0);
    assert_eq!(model.flush(0), MS);
    // A read meets the server busy with what drains.
    assert_eq!(model.serve(0, Op::Read, 0, 4096).done_ns, 2 * MS);
}

#[test]
fn reads_go_before_what_waits_to_be_written_back() {
    let mut model = model("svc=1000 wcache=1MiB wcache_svc=0");
    for block in 0..100 {
        model.serve(0, Op::Write, block * 4096, 4096);
    }
    // Ten are done, the eleventh is under way and is not broken off.
    assert_eq!(model.truth(10 * MS + MS / 2).write_cache.dirty_bytes, 90 * 4096);
    assert_eq!(model.serve(10 * MS + MS / 2, Op::Read, 0, 4096).done_ns, 12 * MS);
    assert_eq!(model.flush(12 * MS), 101 * MS);
}

#[test]
fn a_full_cache_before_a_busy_medium_waits_for_it() {
    let mut model = model("svc=1000 wcache=40KiB wcache_svc=0");
    let seen = closed(&mut model, Op::Write, 4, 0, 0, random(4096));
    assert!(seen.latencies_ns[..10].iter().all(|&latency| latency == 0));
    // Four under way, one is written back in a millisecond.
    assert!(
        seen.latencies_ns[20..].iter().all(|&latency| latency == 4 * MS),
        "{:?}",
        &seen.latencies_ns[..30]
    );
    assert!((1000..=1011).contains(&seen.ios), "{}", seen.ios);
}

#[test]
fn a_read_cache_answers_what_was_read_before() {
    let mut model = model("svc=1000 rcache=1MiB rcache_svc=10");
    for round in 0..3 {
        for block in 0..256 {
            let served = model.serve((round * 256 + block) * 10 * MS, Op::Read, block * 4096, 4096);
            assert_eq!(served.svc_ns, if round == 0 { MS } else { 10_000 });
        }
    }
    let truth = model.truth(SECOND);
    assert_eq!((truth.read_cache.hits, truth.read_cache.misses), (512, 256));
}

#[test]
fn more_than_fits_in_turn_never_hits() {
    let mut model = model("svc=1000 rcache=1MiB");
    for round in 0..3 {
        for block in 0..257 {
            model.serve((round * 257 + block) * 10 * MS, Op::Read, block * 4096, 4096);
        }
    }
    assert_eq!(model.truth(SECOND).read_cache.hits, 0);
}

#[test]
fn the_share_of_hits_is_that_of_the_cache() {
    let mut model = model("svc=100 rcache=256MiB");
    let mut next = random(65536);
    let mut hits = 0;
    for i in 0..40_000 {
        if i == 20_000 {
            hits = model.truth(0).read_cache.hits;
        }
        let (offset, len) = next(i);
        model.serve(i * MS, Op::Read, offset, len);
    }
    let share = (model.truth(0).read_cache.hits - hits) as f64 / 20_000.0;
    assert!((share - 0.25).abs() < 0.02, "{share}");
}

#[test]
fn the_one_used_last_stays() {
    let mut model = model("rcache=8KiB");
    for block in [0, 1, 0, 2, 0, 1] {
        model.serve(0, Op::Read, block * 4096, 4096);
    }
    // 0 twice more; 1 was the oldest when 2 came.
    assert_eq!(model.truth(0).read_cache.hits, 2);
    // Half in it is not in it.
    model.serve(0, Op::Read, 4096, 8192);
    assert_eq!(model.truth(0).read_cache.hits, 2);
}
