//! Caps let a burst through and then keep the rate, whatever the disk could do.

use super::loops::{closed, random, sequential};
use super::{Op, SECOND, model};

#[test]
fn a_cap_on_iops_holds_at_every_depth() {
    for depth in [1, 8, 64] {
        let mut model = model("c=64 svc=100 iops=1000");
        let seen = closed(&mut model, Op::Read, depth, 0, 0, random(4096));
        assert!((999..=1001).contains(&seen.ios), "{depth}: {}", seen.ios);
    }
}

#[test]
fn a_cap_on_bytes_holds_for_every_size() {
    for len in [4096, 65536, 1 << 20] {
        let mut model = model("c=64 svc=10 mbps=100");
        let seen = closed(&mut model, Op::Write, 16, 0, 0, sequential(len));
        assert!((seen.mb_s() - 100.0).abs() < 2.0, "{len}: {}", seen.mb_s());
    }
}

#[test]
fn a_burst_goes_first_and_comes_back_with_time() {
    let mut model = model("iops=100 iops_burst=50");
    let at_once = |model: &mut super::Model, now| {
        (0..100).filter(|_| model.serve(now, Op::Read, 0, 4096).done_ns == now).count()
    };
    assert_eq!(at_once(&mut model, 0), 51);
    assert_eq!(at_once(&mut model, 100 * SECOND), 51);
    assert!(model.truth(200 * SECOND).capped.n >= 98);
}

#[test]
fn both_caps_hold_together() {
    let mut both = model("iops=1000 mbps=10");
    assert!((closed(&mut both, Op::Read, 8, 0, 0, random(4096)).iops() - 1000.0).abs() < 2.0);
    let mut both = model("iops=1000 mbps=10");
    assert!((closed(&mut both, Op::Read, 8, 0, 0, random(65536)).mb_s() - 10.0).abs() < 0.3);
}
