//! Patterns as jobs ask for them, seen in what they leave on real files: a block that was written is not zero.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{finish, refused, scratch, start};
use serde_json::{Value, json};

const BLOCK: usize = 4096;

/// An empty file of `blocks` blocks.
fn file(dir: &Path, name: &str, blocks: usize) -> PathBuf {
    let path = dir.join(name);
    std::fs::File::create(&path).unwrap().set_len((blocks * BLOCK) as u64).unwrap();
    path
}

fn target(path: &Path) -> Value {
    json!({"kind": "file", "path": path, "direct": false})
}

fn segments(blocks: usize) -> Value {
    json!([{"start": 0, "length": blocks * BLOCK, "target": 0}])
}

/// A job of `ios` I/Os.
fn job(path: &Path, blocks: usize, rw: &str, ios: usize) -> Value {
    json!({"schema": 1, "target": target(path), "runtime_ns": 60_000_000_000u64, "stop_after": {"ios": ios},
        "workload": {"rw": rw, "bs": BLOCK, "iodepth": 4, "segments": segments(blocks)}})
}

fn with(mut job: Value, workload: Value) -> Value {
    for (key, value) in workload.as_object().unwrap() {
        job["workload"][key] = value.clone();
    }
    job
}

fn run(job: &Value) -> Value {
    let result = finish(&start(job).unwrap());
    assert_eq!(result["stop_reason"], "ios");
    assert_eq!(result["issued"], result["completed"]);
    result
}

/// Which pieces of `bytes` bytes were written.
fn written(path: &Path, bytes: usize) -> Vec<bool> {
    std::fs::read(path).unwrap().chunks(bytes).map(|piece| piece.iter().any(|&b| b != 0)).collect()
}

#[test]
fn each_block_once_by_several_threads() {
    let dir = scratch();
    let done = |path: &Path| written(path, BLOCK).into_iter().filter(|&done| done).count();
    let path = file(dir.path(), "interlocked", 300);
    run(&with(job(&path, 300, "write", 300), json!({"order": {"kind": "interlocked"}, "threads": 3})));
    assert_eq!(done(&path), 300);
    // One of the threads may be in its second pass while the others are in their first.
    let path = file(dir.path(), "shared", 300);
    run(&with(job(&path, 300, "randwrite", 300), json!({"order": {"kind": "once"}, "threads": 3})));
    assert!((100..=300).contains(&done(&path)), "{}", done(&path));
    let path = file(dir.path(), "alone", 300);
    run(&with(job(&path, 300, "randwrite", 300), json!({"order": {"kind": "once"}})));
    assert_eq!(done(&path), 300);
}

#[test]
fn strides_ranges_and_shifts_touch_what_they_should() {
    let dir = scratch();
    let path = file(dir.path(), "stride", 100);
    run(&with(job(&path, 100, "write", 50), json!({"order": {"kind": "strided", "stride": 2 * BLOCK}})));
    assert!(written(&path, BLOCK).iter().enumerate().all(|(n, &done)| done == (n % 2 == 0)));

    let path = file(dir.path(), "range", 100);
    let range = json!({"range": {"start": 10 * BLOCK + 1, "length": 20 * BLOCK}});
    run(&with(job(&path, 100, "write", 40), range));
    assert!(written(&path, BLOCK).iter().enumerate().all(|(n, &done)| done == (11..30).contains(&n)));

    let path = file(dir.path(), "shift", 100);
    run(&with(job(&path, 100, "write", 99), json!({"misalign": 512})));
    let pieces = written(&path, 512);
    assert!(!pieces[0] && pieces[1..793].iter().all(|&done| done) && pieces[793..].iter().all(|&done| !done));

    let path = file(dir.path(), "hot", 100);
    let zones = json!([{"access_percent": 100, "range_bytes": 10 * BLOCK}]);
    run(&with(job(&path, 100, "randwrite", 500), json!({"order": {"kind": "zones", "zones": zones}})));
    assert!(written(&path, BLOCK).iter().enumerate().all(|(n, &done)| done == (n < 10)));
}

#[test]
fn several_sizes_add_up() {
    let dir = scratch();
    let path = file(dir.path(), "data", 100);
    let sizes = json!([{"bs": 4096, "weight": 3}, {"bs": 12288, "weight": 1}]);
    let split = json!({"bs": 12288, "bssplit": {"read": sizes, "write": [{"bs": 8192, "weight": 1}]}});
    for rw in ["randrw", "rw"] {
        let result = run(&with(job(&path, 100, rw, 4000), split.clone()));
        let n = |lane: &str, key: &str| result[lane][key].as_f64().unwrap();
        assert_eq!(n("write", "bytes"), 8192.0 * n("write", "ops"));
        // Three of 4 KiB to one of 12: 6 KiB on average, within five standard deviations.
        assert!((n("read", "bytes") / n("read", "ops") / 6144.0 - 1.0).abs() < 0.07, "{rw}");
        assert_eq!(
            (&result["effective"]["block_bytes"], &result["effective"]["blocks"]),
            (&json!(12288), &json!(98))
        );
    }
    let mut bytes = with(job(&path, 100, "randread", 0), split);
    bytes["stop_after"] = json!({"bytes": 6_144_000});
    let result = finish(&start(&bytes).unwrap());
    assert_eq!((&result["completed"], &result["stop_reason"]), (&json!(1000), &json!("bytes")));
}

#[test]
fn several_targets_have_their_shares() {
    let dir = scratch();
    let paths: Vec<PathBuf> = (0..3).map(|n| file(dir.path(), &n.to_string(), 200)).collect();
    let several = |rw: &str, ios: usize, deal: &str| {
        let targets: Vec<Value> = paths
            .iter()
            .zip([1, 0, 3])
            .map(
                |(path, weight)| json!({"target": target(path), "weight": weight, "segments": segments(200)}),
            )
            .collect();
        json!({"schema": 1, "targets": targets, "runtime_ns": 60_000_000_000u64, "stop_after": {"ios": ios},
            "workload": {"rw": rw, "bs": BLOCK, "iodepth": 8, "threads": 3, "deal": deal, "seed": 4}})
    };
    let done = || -> Vec<usize> {
        paths.iter().map(|path| written(path, BLOCK).into_iter().filter(|&done| done).count()).collect()
    };
    let result = run(&several("randwrite", 200, "share"));
    let shares = done();
    // 44 and 106 expected, more than five standard deviations away.
    assert!(shares[0] < 75 && shares[1] == 0 && shares[2] > 76, "{shares:?}");
    let effective = &result["effective"];
    assert_eq!(effective["blocks"], 600);
    assert_eq!(effective["targets"][2]["weight"], 3);
    assert_eq!(effective["targets"][1]["path"], paths[1].display().to_string());
    // Each thread to a target of its own, whatever the weights; however late one of them gets to it.
    let run = start(&several("write", usize::MAX, "thread")).unwrap();
    let reached = (0..600).any(|_| done()[1] > 0 || run.wait(Duration::from_millis(100)).is_some());
    run.stop();
    assert!(run.wait(Duration::from_secs(120)).is_some() && reached && done()[1] > 0);

    let few = with(several("write", 1, "thread"), json!({"threads": 2}));
    refused(&few, &["2 threads are too few for 3 targets"]);
    let mut thin = with(several("write", 1, "thread"), json!({"threads": 7}));
    thin["targets"][0]["segments"] = segments(2);
    refused(&thin, &["cannot share"]);
    let mut both = several("write", 1, "share");
    both["target"] = target(&paths[0]);
    refused(&both, &["give one target, or several"]);
    let mut mixed = several("read", 1, "share");
    mixed["targets"][1]["target"] = json!({"kind": "nbd", "uri": "nbd://127.0.0.1:1/"});
    refused(&mixed, &["file and nbd", "one export at a time"]);
    let mut short = several("read", 1, "share");
    short["targets"][1]["segments"] = segments(201);
    refused(&short, &["the blocks end at byte 823296"]);
}

#[test]
fn flushes_follow_writes_and_are_counted_apart() {
    let dir = scratch();
    let path = file(dir.path(), "data", 100);
    for (key, engine) in [("fsync", "auto"), ("fdatasync", "pool")] {
        for depth in [1, 4] {
            let mut flushing = with(job(&path, 100, "write", 80), json!({key: 3, "iodepth": depth}));
            flushing["engine"] = json!(engine);
            let result = run(&flushing);
            // Of 80 I/Os every fourth is a flush.
            assert_eq!((&result["write"]["ops"], &result["sync"]["ops"]), (&json!(60), &json!(20)), "{key}");
            assert_eq!(result["sync"]["bytes"], 0);
        }
    }
}

#[test]
fn the_data_is_what_was_asked_for() {
    let dir = scratch();
    let path = file(dir.path(), "data", 200);
    let data = json!({"data": {"compress_percent": 75, "dedupe_percent": 50}});
    run(&with(job(&path, 200, "write", 200), data));
    let content = std::fs::read(&path).unwrap();
    assert!(
        content
            .chunks(512)
            .all(|piece| piece[128..].iter().all(|&b| b == 0) && piece[..128].iter().any(|&b| b != 0))
    );
    let distinct: std::collections::HashSet<&[u8]> = content.chunks(BLOCK).collect();
    assert!(distinct.len().abs_diff(100) < 36, "{}", distinct.len());
}

#[test]
fn patterns_that_cannot_be_are_refused_with_every_reason() {
    let dir = scratch();
    let path = file(dir.path(), "data", 100);
    for (rw, workload, parts) in [
        (
            "read",
            json!({"order": {"kind": "zipf", "theta": 0}, "misalign": 4096, "fsync": 1}),
            &["sequential rw", "theta", "misalign", "follow writes"][..],
        ),
        (
            "randread",
            json!({"order": {"kind": "interlocked"}, "data": {"compress_percent": 100}, "rwmix_run": 0}),
            &["random rw", "workload.data", "0 to 99", "rwmix_run"],
        ),
        (
            "randwrite",
            json!({"fsync": 1, "fdatasync": 1, "range": {"start": 0, "length": 0}}),
            &["one of the two", "is empty"],
        ),
        (
            "randrw",
            json!({"bssplit": {"read": [{"bs": 8192, "weight": 1}]}, "order": {"kind": "once"}}),
            &["bssplit.write", "longest of bssplit, 8192", "one size"],
        ),
        (
            "randread",
            json!({"order": {"kind": "zones", "zones": [
            {"access_percent": 60, "range_percent": 60}, {"access_percent": 60, "range_percent": 60, "range_bytes": 1}]}}),
            &["add up to 120", "range_percent or range_bytes"],
        ),
        (
            "randread",
            json!({"order": {"kind": "zones", "zones": [{"access_percent": 50, "range_percent": 0.1}]}}),
            &["none of the 100 blocks"],
        ),
        (
            "read",
            json!({"order": {"kind": "strided", "thread_offset": 60 * BLOCK}, "threads": 3}),
            &["thread 2 would begin behind"],
        ),
        ("read", json!({"order": {"kind": "strided", "stride": 0}}), &["order.stride"]),
        ("read", json!({"range": {"start": 100 * BLOCK}}), &["workload.range"]),
        ("read", json!({"threads": 101}), &["101 threads cannot share a sequence of 100 blocks"]),
    ] {
        refused(&with(job(&path, 100, rw, 1), workload), parts);
    }
}
