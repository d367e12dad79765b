//! The same over a file, through io_uring and through blocking calls.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use strata_verify::{Job, start};

const MIB: u64 = 1 << 20;
const BS: u64 = 8192;
const BLOCKS: u64 = 4 * MIB / BS;

fn verified(path: &Path, engine: &str, mode: &str) -> Value {
    let job = json!({
        "schema": 1, "target": {"kind": "file", "path": path, "direct": false, "dsync": false},
        "endpoint": "file", "first_byte": MIB, "blocks": BLOCKS, "bs": BS, "sector": 512, "iodepth": 8, "threads": 2,
        "order": "random", "seed": 5, "run": 99, "mode": mode, "passes": 1, "write_percent": 100,
        "runtime_ns": null, "flush_every": 64, "journal": {"path": path.with_extension("journal"), "sync": true},
        "loss": "process", "atomic": false, "stuck_after_ns": 30_000_000_000u64, "list": 10, "engine": engine,
    });
    let run = start(Job::parse(&job.to_string()).expect("a job")).expect("a run");
    let said = run.wait(Duration::from_secs(60)).expect("in time").expect("a result");
    serde_json::from_str(&said).expect("JSON")
}

#[test]
fn a_file_by_either_engine() {
    for engine in ["auto", "pool"] {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("file");
        let file = File::create(&path).expect("room");
        file.set_len(MIB + BLOCKS * BS).expect("room");
        let head = [7; 4096];
        file.write_all_at(&head, 0).expect("room");
        let run = verified(&path, engine, "run");
        assert_eq!((run["faults"].clone(), run["writes"].clone()), (json!([]), json!(BLOCKS)));
        assert!(run["flushes"].as_u64() > Some(0));
        // Nothing before the first block was touched.
        let mut there = [0; 4096];
        read_at(&path, 0, &mut there);
        assert_eq!(there, head);
        // Three blocks change behind its back.
        let at = |block: u64| MIB + block * BS;
        file.write_all_at(&[0xff; 3], at(5) + 100).expect("room");
        let mut moved = vec![0; BS as usize];
        read_at(&path, at(8), &mut moved);
        file.write_all_at(&moved, at(9)).expect("room");
        file.write_all_at(&vec![0; BS as usize], at(11)).expect("room");
        let checked = verified(&path, engine, "check");
        let named: Vec<_> = checked["faults"]
            .as_array()
            .expect("faults")
            .iter()
            .map(|f| (f["offset"].as_u64().expect("an offset"), f["kind"].as_str().expect("a kind")))
            .collect();
        assert_eq!(named, [(at(5), "corrupted"), (at(9), "misdirected"), (at(11), "foreign")]);
        assert_eq!(checked["faults"][0]["first"], at(5) + 100);
        assert_eq!(checked["faults"][1]["from"], at(8));
    }
}

fn read_at(path: &Path, offset: u64, into: &mut [u8]) {
    File::open(path).and_then(|file| file.read_exact_at(into, offset)).expect("readable");
}
