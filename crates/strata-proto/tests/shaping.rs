//! Shaping is exact: rates within 85–102 % of what was asked (the machine may be busy), delays
//! never short. Each test moves about a second's worth at the asked rate.

mod common;

use common::{NULL, one, saturate, target};
use strata_io::Op;

fn assert_rate(measured: f64, asked: f64) {
    let ratio = measured / asked;
    println!("ratio {ratio:.4}");
    assert!((0.85..=1.02).contains(&ratio), "{measured:.0} a second where {asked:.0} were asked: {ratio:.4}");
}

#[test]
fn bandwidth_in_each_direction_over_two_connections() {
    for op in [Op::Read, Op::Write] {
        let target = target(NULL, r#"{"bandwidth_bytes_per_s":100000000}"#);
        let (block, count) = (128 * 1024, 700);
        let mut queue = target.queue(8, block, 2);
        let seconds = saturate(&mut queue, op, 8, block, count);
        assert_rate(f64::from(block) * f64::from(count) / seconds, 1e8);
    }
}

#[test]
fn a_cap_on_requests_that_has_no_burst() {
    let target = target(NULL, r#"{"iops":3000}"#);
    let mut queue = target.queue(16, 4096, 1);
    let seconds = saturate(&mut queue, Op::Read, 16, 4096, 2500);
    assert_rate(2500.0 / seconds, 3000.0);
    // Rested, it still spaces the very next requests: nothing was saved up.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let seconds = saturate(&mut queue, Op::Read, 16, 4096, 301);
    assert!(seconds >= 300.0 / 3000.0, "{seconds}");
}

#[test]
fn service_threads_times_service_time() {
    let target = target(NULL, r#"{"service_threads":4,"service_time_ns":2000000}"#);
    let mut queue = target.queue(16, 4096, 1);
    let seconds = saturate(&mut queue, Op::Write, 16, 4096, 1800);
    assert_rate(1800.0 / seconds, 2000.0);
}

#[test]
fn latency_is_added_once_and_does_not_limit_throughput() {
    let target = target(NULL, r#"{"latency_ns":5000000}"#);
    let mut queue = target.queue(32, 4096, 1);
    let begun = std::time::Instant::now();
    assert_eq!(one(&mut queue, Op::Read, 0, 4096), 4096);
    assert!(begun.elapsed().as_nanos() >= 5_000_000);
    // 32 at once take a sixteenth of what they would one after the other, with room to spare.
    let seconds = saturate(&mut queue, Op::Read, 32, 4096, 1600);
    assert!(seconds >= 50.0 * 0.005, "{seconds}");
    assert!(seconds < 1600.0 * 0.005 / 16.0, "{seconds}");
}
