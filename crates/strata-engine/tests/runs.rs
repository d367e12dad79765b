//! Whole runs, from a job's JSON to its result's, on real files of the working disk.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{finish, refused, scratch, start};
use serde_json::{Value, json};
use strata_engine::{BuildInfo, FillSpec, decode_histogram};

const MIB: u64 = 1 << 20;

fn sized(dir: &Path, bytes: u64) -> PathBuf {
    let path = dir.join("data");
    std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
    path
}

fn filled(dir: &Path, bytes: u64) -> (PathBuf, bool) {
    let path = sized(dir, bytes);
    let direct = strata_io::io_limits(&path).unwrap().dio_supported;
    if !direct {
        println!("SKIPPED direct I/O: not possible here, buffered instead");
    }
    let spec = FillSpec {
        path: path.clone(),
        fd: None,
        size_bytes: bytes,
        seed: 3,
        header: b"MARK".to_vec(),
        direct,
    };
    let result = finish(&strata_engine::fill(spec, BuildInfo::default()).unwrap());
    assert_eq!(result["stop_reason"], "ios");
    (path, direct)
}

fn job(target: Value, rw: &str, ios: u64) -> Value {
    json!({"schema": 1, "target": target,
        "workload": {"rw": rw, "bs": 4096, "rwmixread": 70, "iodepth": 4, "threads": 2, "seed": 1, "rate_iops": null,
                     "segments": [{"start": 4096, "length": 3 * MIB, "target": 4096}, {"start": 4 * MIB, "length": MIB, "target": 4 * MIB}]},
        "ramp_ns": 0, "runtime_ns": 60_000_000_000u64, "interval_ns": 5_000_000,
        "stop_after": {"ios": ios, "bytes": null}, "engine": "auto", "batch": 8, "pin_cpus": null, "on_error": "continue"})
}

/// One that nothing but its time ends, on nothing.
fn endless(rw: &str) -> Value {
    let mut job = job(json!({"kind": "null"}), rw, 1);
    job["stop_after"] = json!({});
    job
}

/// What every result must satisfy, whatever was measured.
fn consistent(result: &Value) {
    let n = |key: &str| result[key].as_u64().unwrap();
    assert_eq!(n("issued"), n("completed") + n("errored") + n("stuck"));
    let intervals = result["intervals"].as_array().unwrap();
    for direction in ["read", "write"] {
        let total = &result[direction];
        for key in ["ops", "bytes", "service_sum_ns"] {
            let sum: u64 = intervals.iter().map(|i| i[direction][key].as_u64().unwrap()).sum();
            assert_eq!(sum, total[key].as_u64().unwrap(), "{direction}.{key}");
        }
        let whole = decode_histogram(total["service_time"].as_str().unwrap()).unwrap();
        assert_eq!(whole.count(), total["ops"].as_u64().unwrap());
        let mut parts = strata_hist::Histogram::new();
        for text in intervals.iter().filter_map(|i| i[direction]["service_time"].as_str()) {
            parts.merge(&decode_histogram(text).unwrap());
        }
        assert!(parts.buckets().eq(whole.buckets()));
    }
    let ops = |key: &str| {
        result["threads"].as_array().unwrap().iter().map(|t| t[key].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(ops("read_ops"), result["read"]["ops"].as_u64().unwrap());
    assert_eq!(ops("write_ops"), result["write"]["ops"].as_u64().unwrap());
    let last = intervals.last().unwrap()["end_ns"].as_u64().unwrap();
    assert_eq!(last, n("measured_ns"));
}

#[test]
fn every_direction_on_every_engine() {
    let dir = scratch();
    let (path, direct) = filled(dir.path(), 6 * MIB);
    let target = json!({"kind": "file", "path": path, "direct": direct, "sync": "none", "create": false});
    for engine in ["auto", "pool"] {
        for rw in ["read", "write", "randread", "randwrite", "rw", "randrw"] {
            let mut job = job(target.clone(), rw, 500);
            job["engine"] = json!(engine);
            let result = finish(&start(&job).unwrap());
            consistent(&result);
            let (reads, writes) =
                (result["read"]["ops"].as_u64().unwrap(), result["write"]["ops"].as_u64().unwrap());
            assert_eq!(reads + writes, 500, "{rw}");
            assert_eq!(
                (reads > 0, writes > 0),
                (rw != "write" && rw != "randwrite", !rw.ends_with("read")),
                "{rw}"
            );
            assert_eq!(result["stop_reason"], "ios");
            assert_eq!(result["effective"]["direct"], direct);
            assert_eq!(result["effective"]["blocks"], 3 * 256 + 256);
            assert!(result["read"]["response_time"].is_null() && result["lag"].is_null());
        }
    }
    // Outside the segments nothing was touched: the mark is still there.
    assert_eq!(&std::fs::read(&path).unwrap()[..4], b"MARK");
}

#[test]
fn threads_say_where_they_ran_and_what_they_did() {
    let dir = scratch();
    let (path, direct) = filled(dir.path(), 8 * MIB);
    let target = json!({"kind": "file", "path": path, "direct": direct, "sync": "rwf_dsync"});
    for engine in ["auto", "pool"] {
        let mut job = job(target.clone(), "randrw", 200);
        job["engine"] = json!(engine);
        // The last processor that this process may use.
        let allowed = std::fs::read_to_string("/proc/self/status").unwrap();
        let list = allowed.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
        let cpu: u32 = list.rsplit([',', '-']).next().unwrap().parse().unwrap();
        job["pin_cpus"] = json!([cpu]);
        let result = finish(&start(&job).unwrap());
        consistent(&result);
        assert_eq!(result["effective"]["sync"], "rwf_dsync");
        assert_eq!(result["errored"], 0);
        for thread in result["threads"].as_array().unwrap() {
            let n = |key: &str| thread[key].as_u64().unwrap();
            assert_eq!((&thread["pinned"], &thread["cpus"]), (&thread["cpus"], &json!(cpu.to_string())));
            assert_eq!(n("read_bytes") + n("write_bytes"), 4096 * (n("read_ops") + n("write_ops")));
            let service = &thread["service"];
            if n("read_ops") + n("write_ops") == 0 {
                // The other took all of them before this one ran; `consistent` has seen that none is missing.
                assert!(service.is_null());
                continue;
            }
            assert!(service["p50_ns"].as_u64() <= service["p99_ns"].as_u64());
            assert!(service["mean_ns"].as_f64().unwrap() > 0.0);
        }
    }
    let mut nodes = job(json!({"kind": "null"}), "randread", 10);
    nodes["pin_nodes"] = json!([4095]);
    refused(&nodes, &["node 4095 is not on this machine"]);
    nodes["pin_cpus"] = json!([0]);
    refused(&nodes, &["not together"]);
}

#[test]
fn an_open_loop_run_by_time_has_response_times_and_a_live_series() {
    let mut job = endless("randread");
    // One thread: the last bin in which anything ran is then its own.
    job["workload"]["threads"] = json!(1);
    job["workload"]["rate_iops"] = json!({"iops": 5000.0, "process": "poisson"});
    (job["ramp_ns"], job["runtime_ns"]) = (json!(20_000_000), json!(300_000_000));
    let run = start(&job).unwrap();
    let mut polled = 0;
    while run.wait(Duration::ZERO).is_none() {
        polled += serde_json::from_str::<Vec<Value>>(&run.poll()).unwrap().len();
        std::thread::sleep(Duration::from_millis(20));
    }
    polled += serde_json::from_str::<Vec<Value>>(&run.poll()).unwrap().len();
    let result = finish(&run);
    consistent(&result);
    assert_eq!(result["measured_ns"], 300_000_000);
    assert_eq!((polled, result["intervals"].as_array().unwrap().len()), (60, 60));
    let response = decode_histogram(result["read"]["response_time"].as_str().unwrap()).unwrap();
    assert_eq!(response.count(), result["read"]["ops"].as_u64().unwrap());
    let lag = decode_histogram(result["lag"].as_str().unwrap()).unwrap();
    assert!(lag.count().abs_diff(response.count()) <= 8);
    // 1500 expected, within six standard deviations of a Poisson count. What is due while this machine does not run the
    // thread at the end is not issued; what was due before the last 5 ms in which it ran is, 25 in each.
    let ran = |i: &Value| i["read"]["ops"].as_u64().unwrap() > 0;
    let least = 25.0 * result["intervals"].as_array().unwrap().iter().rposition(ran).unwrap() as f64;
    assert!(response.count() as f64 >= least - 6.0 * least.sqrt(), "{} of {least}", response.count());
    assert!(response.count() < 1733, "{}", response.count());
}

#[test]
fn stop_gives_what_was_measured() {
    let run = start(&endless("randrw")).unwrap();
    while run.poll() == "[]" {
        std::thread::sleep(Duration::from_millis(1));
    }
    run.stop();
    let result = finish(&run);
    consistent(&result);
    assert_eq!(result["stop_reason"], "stopped");
    assert!(result["read"]["ops"].as_u64().unwrap() > 0);
}

#[test]
fn a_fill_writes_every_byte_and_keeps_the_mark() {
    for bytes in [8192, 100_000, 3 * MIB + 4096 + 77] {
        let dir = scratch();
        let (path, _) = filled(dir.path(), bytes);
        let data = std::fs::read(&path).unwrap();
        assert_eq!((&data[..4], data.len() as u64), (&b"MARK"[..], bytes));
        // No 64 bytes of zeros anywhere, and no 512 bytes twice.
        assert!(data.chunks_exact(64).all(|piece| piece.iter().any(|&b| b != 0)), "{bytes}");
        let distinct: std::collections::HashSet<&[u8]> = data.chunks(512).collect();
        assert_eq!(distinct.len(), data.len().div_ceil(512));
        if let Ok(map) = strata_io::fiemap(&path) {
            assert!(map.extents.iter().all(|e| !e.flags.contains(&"unwritten")));
        }
    }
}

#[test]
fn a_fill_beyond_the_file_is_refused() {
    let dir = scratch();
    let path = sized(dir.path(), 4 * MIB);
    let spec = FillSpec { path, fd: None, size_bytes: 8 * MIB, seed: 1, header: vec![], direct: false };
    let refused = strata_engine::fill(spec, BuildInfo::default()).unwrap_err().to_string();
    assert!(refused.contains("extend it first"), "{refused}");
}

#[test]
fn jobs_that_cannot_be_are_refused_with_every_reason() {
    let dir = scratch();
    let path = sized(dir.path(), MIB);
    let file = json!({"kind": "file", "path": path, "direct": false, "sync": "none", "create": true});
    let mut bad = job(file.clone(), "read", 1);
    bad["batch"] = json!(0);
    bad["workload"]["iodepth"] = json!(0);
    refused(&bad, &["batch", "iodepth", "create"]);
    for (at, key) in [("/workload", "bss"), ("/target", "pth"), ("", "ramp")] {
        let mut unknown = job(json!({"kind": "null"}), "read", 1);
        unknown.pointer_mut(at).unwrap()[key] = json!(1);
        refused(&unknown, &[key]);
    }
    // Beyond the end of the file, and not aligned for direct I/O: refused with the numbers, nothing written.
    let mut beyond = job(json!({"kind": "file", "path": path, "direct": false}), "write", 1);
    refused(&beyond, &["1048576"]);
    if strata_io::io_limits(&path).unwrap().dio_supported {
        beyond["target"]["direct"] = json!(true);
        beyond["workload"]["segments"] = json!([{"start": 0, "length": 65536, "target": 100}]);
        refused(&beyond, &["offsets of a multiple of"]);
    }
    assert!(std::fs::read(&path).unwrap().iter().all(|&b| b == 0));
    let block = job(json!({"kind": "block", "path": "/dev/null", "direct": false}), "write", 1);
    refused(&block, &["allow_write"]);
}

#[test]
fn errors_are_counted_by_errno_with_the_first_offset() {
    let dir = scratch();
    let (path, _) = filled(dir.path(), 6 * MIB);
    let mut endless = job(json!({"kind": "file", "path": path, "direct": false}), "read", 1);
    endless["stop_after"] = json!({});
    let run = start(&endless).unwrap();
    // Cut the file under the run: from now on reads come back short.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
    let failing = |text: String| {
        let intervals: Vec<Value> = serde_json::from_str(&text).unwrap();
        intervals.iter().any(|i| i["read"]["errors"].as_u64().unwrap() > 0)
    };
    while !failing(run.poll()) {
        std::thread::sleep(Duration::from_millis(2));
    }
    run.stop();
    let result = finish(&run);
    consistent(&result);
    let errors = result["read"]["errors"].as_array().unwrap();
    assert_eq!((errors[0]["name"].as_str(), errors[0]["errno"].as_i64()), (Some("SHORT"), Some(0)));
    let counted: u64 = errors.iter().map(|e| e["count"].as_u64().unwrap()).sum();
    let listed: u64 =
        result["intervals"].as_array().unwrap().iter().map(|i| i["read"]["errors"].as_u64().unwrap()).sum();
    assert_eq!(counted, listed);
    assert!(counted <= result["errored"].as_u64().unwrap());
    let offset = errors[0]["first_offset"].as_u64().unwrap();
    assert!(offset.is_multiple_of(4096) && (4096..5 * MIB).contains(&offset));
}

#[test]
fn a_trim_frees_its_blocks_and_a_server_is_not_asked_for_one() {
    let dir = scratch();
    let (path, direct) = filled(dir.path(), 8 * MIB);
    let job = |rw: &str, target: Value, engine: &str, iodepth: u32| {
        json!({
            "schema": 1, "target": target, "runtime_ns": 20_000_000_000u64, "engine": engine, "stop_after": {"ios": 64},
            "workload": {
                "rw": rw, "bs": 65_536, "iodepth": iodepth, "order": if rw == "trim" { Value::Null } else { json!({"kind": "once"}) },
                "segments": [{"start": 4 * MIB, "length": 4 * MIB, "target": 4 * MIB}],
            },
        })
    };
    let file = json!({"kind": "file", "path": path, "direct": direct});
    for (rw, engine, iodepth) in
        [("trim", "auto", 4), ("randtrim", "auto", 1), ("trim", "pool", 4), ("trim", "pool", 1)]
    {
        filled(dir.path(), 8 * MIB);
        let done = finish(&start(&job(rw, file.clone(), engine, iodepth)).unwrap());
        assert_eq!(
            (done["write"]["ops"].as_u64(), done["errored"].as_u64()),
            (Some(64), Some(0)),
            "{rw} {engine}"
        );
        assert_eq!((done["write"]["bytes"].as_u64(), done["read"]["ops"].as_u64()), (Some(4 * MIB), Some(0)));
        let there = std::fs::read(&path).unwrap();
        assert_eq!(there.len() as u64, 8 * MIB);
        let (kept, freed) = there.split_at(4 << 20);
        assert!(freed.iter().all(|&byte| byte == 0), "{rw} {engine}");
        assert!(kept.chunks(4096).all(|page| page.iter().any(|&byte| byte != 0)), "{rw} {engine}");
    }
    let server = json!({"kind": "nbd", "uri": "nbd://127.0.0.1:1/x", "connections": 1});
    refused(&job("trim", server, "auto", 1), &["can be trimmed"]);
    let device = json!({"kind": "block", "path": "/dev/null", "direct": false});
    refused(&job("trim", device, "auto", 1), &["allow_write is not set"]);
}

fn monotonic_ns() -> u64 {
    use strata_engine::clock::Clock as _;
    strata_engine::clock::Monotonic.now_ns()
}

#[test]
fn a_run_begins_at_the_instant_it_is_told_and_says_when_it_did() {
    let mut job = endless("randread");
    (job["ramp_ns"], job["runtime_ns"]) = (json!(20_000_000), json!(30_000_000));
    let at_ns = monotonic_ns() + 200_000_000;
    job["start_at_ns"] = json!(at_ns);
    let result = finish(&start(&job).unwrap());
    consistent(&result);
    let told = &result["instants"];
    let n = |key: &str| told[key].as_u64().unwrap();
    assert_eq!((n("start_at_ns"), n("late_ns")), (at_ns, 0));
    // The two clocks may differ by what the finer one's setting allows.
    assert!(n("first_io_ns") + 20_000 >= at_ns && n("first_io_ns") <= n("last_first_io_ns"), "{told}");
    assert!(n("last_first_io_ns") < at_ns + 20_000_000, "within the ramp: {told}");
    assert!(n("measured_from_ns").abs_diff(at_ns + 20_000_000) < 50_000, "{told}");
    assert!((n("measured_to_ns") - n("measured_from_ns")).abs_diff(30_000_000) < 50_000, "{told}");
}

#[test]
fn a_start_that_has_passed_is_made_up_for_within_the_ramp_and_refused_beyond_it() {
    let mut job = endless("randread");
    (job["ramp_ns"], job["runtime_ns"]) = (json!(3_000_000_000u64), json!(20_000_000));
    let at_ns = monotonic_ns() - 1_500_000_000;
    job["start_at_ns"] = json!(at_ns);
    let result = finish(&start(&job).unwrap());
    let n = |key: &str| result["instants"][key].as_u64().unwrap();
    assert!((1_500_000_000..3_000_000_000).contains(&n("late_ns")));
    assert!(n("first_io_ns") >= at_ns + n("late_ns") - 50_000);
    assert!(n("measured_from_ns").abs_diff(at_ns + 3_000_000_000) < 50_000);
    assert_eq!(result["measured_ns"], 20_000_000);
    job["ramp_ns"] = json!(1_000_000_000u64);
    refused(&job, &["ms after it, and the ramp lasts 1000 ms"]);
    job["start_at_ns"] = json!(monotonic_ns() + 90_000_000_000_000);
    refused(&job, &["start_at_ns", "more than a day"]);
}

#[test]
fn a_run_that_is_stopped_before_it_began_has_no_io() {
    let mut job = endless("randread");
    job["start_at_ns"] = json!(monotonic_ns() + 600_000_000_000);
    let run = start(&job).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    run.stop();
    let result = finish(&run);
    assert_eq!((&result["issued"], &result["stop_reason"]), (&json!(0), &json!("stopped")));
    assert!(result["instants"]["first_io_ns"].is_null());
}

#[test]
fn a_run_that_nobody_renews_stops_by_itself_and_keeps_what_it_measured() {
    let mut job = endless("randread");
    job["lease_ns"] = json!(300_000_000);
    let run = start(&job).unwrap();
    let began_ns = monotonic_ns();
    while monotonic_ns() < began_ns + 600_000_000 {
        assert!(run.renew());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(run.wait(Duration::ZERO).is_none(), "renewed, it goes on beyond its lease");
    let last_ns = monotonic_ns();
    let result = finish(&run);
    let took_ns = monotonic_ns() - last_ns;
    assert!(took_ns < 5_000_000_000, "{took_ns}");
    consistent(&result);
    assert_eq!(result["stop_reason"], "lease");
    assert!(result["read"]["ops"].as_u64().unwrap() > 0);
    assert!(!run.renew(), "what is over is not brought back");
    job["lease_ns"] = json!(1);
    refused(&job, &["lease_ns"]);
}
