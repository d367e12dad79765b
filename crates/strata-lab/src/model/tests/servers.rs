//! Servers, their time, its jitter; slow members; times of standing still.

use super::loops::{closed, random, sequential};
use super::{MS, Model, Op, Params, SECOND, SIZE, model};

#[test]
fn little_holds_for_one_server() {
    let seen = closed(&mut model("c=1 svc=500"), Op::Read, 8, 0, 0, random(8192));
    assert_eq!(seen.ios, 2000);
    let steady = &seen.latencies_ns[8..];
    assert!(steady.iter().all(|&latency| latency == 4 * MS));
}

#[test]
fn little_holds_for_eight_servers() {
    for (depth, iops, latency_us) in [(1, 500.0, 2000.0), (8, 4000.0, 2000.0), (32, 4000.0, 8000.0)] {
        let seen = closed(&mut model("c=8 svc=2000"), Op::Read, depth, 0, 0, random(8192));
        assert!((seen.iops() - iops).abs() < 1.0, "{depth}: {}", seen.iops());
        let last = *seen.latencies_ns.last().unwrap();
        assert_eq!(last as f64 / 1e3, latency_us, "{depth}");
    }
}

#[test]
fn a_disk_without_a_model_answers_at_once() {
    let served = model("").serve(123, Op::Write, 0, 1 << 20);
    assert_eq!((served.done_ns, served.svc_ns, served.fails), (123, 0, false));
}

#[test]
fn directions_have_times_of_their_own() {
    let mut model = model("svc_r=100 svc_w=700 bw_r=100 bw_w=50");
    assert_eq!(model.serve(0, Op::Read, 0, 100_000).done_ns, 1_100_000);
    assert_eq!(model.serve(10 * MS, Op::Write, 0, 100_000).done_ns, 10 * MS + 2_700_000);
}

#[test]
fn jitter_keeps_the_mean_and_has_its_shape() {
    for (words, spread_us) in
        [("jitter=uniform spread=0.5", 1000.0 / 12_f64.sqrt()), ("jitter=exponential", 1000.0)]
    {
        let mut model = model(&format!("svc=1000 {words}"));
        let mut took: Vec<f64> =
            (0..20_000).map(|i| model.serve(i * SECOND, Op::Read, 0, 4096).svc_ns as f64 / 1e3).collect();
        let mean = took.iter().sum::<f64>() / took.len() as f64;
        let deviation = (took.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / took.len() as f64).sqrt();
        // Four standard errors of the mean at the most.
        assert!((mean - 1000.0).abs() < 30.0, "{words}: {mean}");
        assert!((deviation - spread_us).abs() < 0.05 * spread_us, "{words}: {deviation}");
        took.sort_by(f64::total_cmp);
        let median = took[took.len() / 2];
        let expected = if words.contains("uniform") { 1000.0 } else { 1000.0 * 2_f64.ln() };
        assert!((median - expected).abs() < 30.0, "{words}: {median}");
    }
}

#[test]
fn the_same_seed_gives_the_same_disk_and_another_another() {
    let times = |seed: u64| {
        let mut model = model(&format!("svc=1000 jitter=exponential seed={seed}"));
        (0..50).map(|i| model.serve(i * SECOND, Op::Read, 0, 4096).svc_ns).collect::<Vec<_>>()
    };
    assert_eq!(times(3), times(3));
    assert_ne!(times(3), times(4));
}

#[test]
fn stripes_spread_load_and_large_io() {
    let mut one = model("svc=1000");
    let mut four = model("svc=1000 members=4 stripe=64KiB");
    let slow = closed(&mut one, Op::Read, 32, 0, 0, sequential(65536));
    let fast = closed(&mut four, Op::Read, 32, 0, 0, sequential(65536));
    assert_eq!((slow.ios, fast.ios), (1000, 4000));
    // One I/O over all of them takes as long as the longest part.
    let mut four = model("bw=100 members=4 stripe=64KiB");
    assert_eq!(four.serve(0, Op::Read, 0, 262_144).done_ns, 655_360);
    assert_eq!(four.truth(SECOND).members.iter().map(|m| m.n).collect::<Vec<_>>(), [1; 4]);
}

#[test]
fn a_lame_member_holds_up_what_touches_it() {
    let mut model = model("c=4 svc=100 members=4 stripe=64KiB lame=2 lame_factor=10");
    for stripe in 0..8 {
        let served = model.serve(stripe * SECOND, Op::Read, stripe * 65536, 4096);
        let factor = if stripe % 4 == 2 { 10 } else { 1 };
        assert_eq!(served.svc_ns, factor * 100_000, "{stripe}");
    }
    assert_eq!(model.serve(100 * SECOND, Op::Read, 0, 262_144).svc_ns, 1_000_000);
}

#[test]
fn a_stall_stops_everything_for_its_time() {
    let mut model = model("svc=100 stall_every=100 stall_for=30");
    let seen = closed(&mut model, Op::Read, 1, 0, 0, random(4096));
    // 70 % of the time is left.
    assert!((6999..=7001).contains(&seen.ios), "{}", seen.ios);
    let late = seen.latencies_ns.iter().filter(|&&latency| latency > 100_000).count();
    assert!((9..=11).contains(&late), "{late}");
    assert_eq!(*seen.latencies_ns.iter().max().unwrap(), 30_100_000);
    // One more may be under way at the end.
    assert!((late as u64..=late as u64 + 1).contains(&model.truth(SECOND).slowed.n));
}

#[test]
fn the_phase_of_a_stall_comes_from_the_seed() {
    let first = |seed: u64| {
        let mut model = model(&format!("svc=100 stall_every=100 stall_for=30 seed={seed}"));
        (0..1000).find(|i| model.serve(i * 100_000, Op::Read, 0, 4096).svc_ns > 100_000)
    };
    assert_eq!(first(1), first(1));
    assert!((2..12).any(|seed| first(seed) != first(1)));
}

#[test]
fn collecting_garbage_alternates_the_speed() {
    let mut model = model("svc=100 gc_every=100 gc_for=50 gc_factor=5");
    let seen = closed(&mut model, Op::Write, 1, 0, 0, random(4096));
    // Half of the time at 10000 IOPS, half at 2000.
    assert!((seen.iops() - 6000.0).abs() < 25.0, "{}", seen.iops());
    let slow = seen.latencies_ns.iter().filter(|&&latency| latency == 500_000).count();
    assert!((950..=1000).contains(&slow), "{slow}");
}

#[test]
fn errors_come_as_often_as_asked_and_where() {
    let mut model = model("eio_r=0.1");
    let failed = (0..10_000).filter(|&i| model.serve(i, Op::Read, 0, 4096).fails).count();
    // Binomial: 1000, standard deviation 30; four of them.
    assert!((880..1120).contains(&failed), "{failed}");
    assert!((0..1000).all(|i| !model.serve(SECOND + i, Op::Write, 0, 4096).fails));
    assert_eq!(model.truth(2 * SECOND).read.errors, failed as u64);
}

#[test]
fn parameters_change_while_it_runs_and_promises_are_kept() {
    let mut model = model("c=1 svc=1000");
    let first = model.serve(0, Op::Read, 0, 4096).done_ns;
    let second = model.serve(0, Op::Read, 0, 4096).done_ns;
    assert_eq!((first, second), (MS, 2 * MS));
    model.set(0, model.params().with("c=2 svc=100").unwrap()).unwrap();
    assert_eq!(model.serve(0, Op::Read, 0, 4096).done_ns, 100_000);
    model.set(0, model.params().with("c=1").unwrap()).unwrap();
    assert_eq!(model.serve(0, Op::Read, 0, 4096).done_ns, 2 * MS + 100_000);
}

#[test]
fn what_is_counted_adds_up() {
    let mut model = model("c=2 svc=1000");
    for i in 0..4 {
        model.serve(0, Op::Read, i * 4096, 4096);
    }
    model.serve(0, Op::Write, 0, 8192);
    let truth = model.truth(5 * MS);
    assert_eq!((truth.read.n, truth.read.bytes, truth.read.sequential), (4, 16384, 3));
    assert_eq!((truth.read.svc_ns, truth.read.wait_ns, truth.read.max_ns), (4 * MS, 2 * MS, 2 * MS));
    assert_eq!((truth.read.depth_sum, truth.depth_max), (1 + 2 + 3 + 4, 5));
    assert_eq!((truth.write.n, truth.write.wait_ns, truth.write.svc_ns), (1, 2 * MS, MS));
    assert_eq!((truth.elapsed_ns, truth.members[0].busy_ns), (5 * MS, 5 * MS));
    model.reset(5 * MS);
    let truth = model.truth(6 * MS);
    assert_eq!((truth.read.n, truth.write.n, truth.elapsed_ns, truth.members.len()), (0, 0, MS, 1));
}

#[test]
fn a_model_needs_parameters_that_go_together() {
    for words in [
        "c=0",
        "c=5000",
        "c=2 seek=100",
        "rpm=7200",
        "lame=1",
        "stall_every=5 stall_for=5",
        "stall_every=0.5",
        "gc_factor=0.5",
        "block=5000",
        "block=256",
        "members=2 stripe=6144 block=4096",
    ] {
        let params = Params::default().with(words).unwrap();
        assert!(Model::new(SIZE, params).is_err(), "{words}");
    }
}
