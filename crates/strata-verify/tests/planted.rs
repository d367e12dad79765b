//! Faults planted in a real server, and what a verification over a real socket names.

mod common;

use std::time::Duration;

use common::{finished, merge};
use serde_json::{Value, json};
use strata_proto::nbd::server::{Config, Endpoint, Server};
use strata_verify::{Job, start};

const MIB: u64 = 1 << 20;
const BS: u64 = 4096;
/// Blocks lie behind the first MiB, as in a marked file.
const BLOCKS: u64 = 3 * MIB / BS;

fn serve(extra: Value) -> Server {
    let mut config =
        json!({"listen": {"tcp": "127.0.0.1:0"}, "backing": {"kind": "memory", "size_bytes": 4 * MIB}});
    merge(&mut config, extra);
    Server::start(&serde_json::from_value::<Config>(config).expect("a configuration")).expect("a server")
}

fn job(server: &Server, extra: Value) -> Job {
    let Endpoint::Tcp(address) = server.endpoint() else { panic!("tcp was asked for") };
    let uri = format!("nbd://{address}/");
    let mut job = json!({
        "target": {"kind": "nbd", "uri": uri, "connections": 1, "dsync": false}, "endpoint": uri, "first_byte": MIB,
        "blocks": BLOCKS, "bs": BS, "run": 1234, "passes": 2, "flush_every": 100, "list": 1000,
    });
    merge(&mut job, extra);
    common::job(job)
}

fn verified(server: &Server, extra: Value) -> Value {
    common::verified(job(server, extra))
}

/// The counts of the kinds that were found at all, and the blocks by number.
fn named(result: &Value) -> (Vec<(String, u64)>, Vec<u64>) {
    let counts = result["counts"].as_object().expect("counts");
    let counts =
        counts.iter().map(|(kind, n)| (kind.clone(), n.as_u64().expect("a count"))).filter(|(_, n)| *n > 0);
    let faults = result["faults"].as_array().expect("faults").iter();
    let blocks = faults.map(|f| (f["offset"].as_u64().expect("an offset") - MIB) / BS);
    (counts.collect(), blocks.collect())
}

#[test]
fn a_healthy_target_has_none() {
    let server = serve(json!({}));
    let result = verified(&server, json!({"write_percent": 50}));
    assert_eq!(named(&result), (vec![], vec![]));
    assert_eq!(result["end"]["kind"], "done");
    assert_eq!(result["verified_blocks"], BLOCKS);
    assert_eq!(result["passes"], 5);
    let writes = result["writes"].as_u64().expect("a count");
    assert!((BLOCKS + BLOCKS / 3..BLOCKS + BLOCKS * 2 / 3).contains(&writes), "{writes}");
    assert!(result["flushes"].as_u64() >= Some(2 * (BLOCKS / 200)));
}

/// Blocks that `every` 97 with seed 3 strikes: counted in whole blocks from the beginning of the export.
fn struck() -> Vec<u64> {
    (0..BLOCKS).filter(|block| (MIB / BS + block) % 97 == 3).collect()
}

fn plant(kind: &str) -> Value {
    json!({"faults": [{"kind": kind, "every": 97, "seed": 3}]})
}

#[test]
fn what_was_planted_is_what_is_named() {
    for (kind, facts) in [
        ("lost", &[("expected", 2), ("found", 1)][..]),
        ("torn", &[("old_sectors", 4)]),
        ("stale", &[("seen", 2)]),
        ("corrupted", &[("bytes", 1)]),
    ] {
        let result = verified(&serve(plant(kind)), json!({}));
        assert_eq!(named(&result), (vec![(kind.to_owned(), struck().len() as u64)], struck()), "{kind}");
        assert_eq!(result["end"]["kind"], "done");
        facts.iter().for_each(|&(fact, of)| assert_eq!(result["faults"][0][fact], of, "{kind}: {fact}"));
    }
}

#[test]
fn misdirected_writes() {
    let server = serve(plant("misdirected"));
    // In order, the block before has been written by then, and is not written again.
    let result = verified(&server, json!({"order": "sequential", "threads": 1}));
    let victims: Vec<u64> = struck().iter().map(|block| block - 1).collect();
    assert_eq!(named(&result), (vec![("misdirected".to_owned(), victims.len() as u64)], victims));
    assert_eq!(result["faults"][0]["from"], MIB + struck()[0] * BS);
}

#[test]
fn writes_that_fail_half_done() {
    let server = serve(plant("short-error"));
    let result = verified(&server, json!({}));
    // The read right after fails as well; what is half there after a failed write is nobody's fault.
    assert_eq!(named(&result), (vec![("unreadable".to_owned(), struck().len() as u64)], struck()));
    assert_eq!(result["write_failures"][0]["errno"], libc::EIO);
    assert_eq!(result["write_failures"][0]["count"], struck().len());
    assert_eq!(result["in_flight"]["torn"], struck().len());
}

#[test]
fn a_request_that_never_completes_is_named_and_does_not_hang() {
    let server = serve(json!({"shape": {"service_time_ns": 60_000_000_000u64}}));
    let result = verified(&server, json!({"stuck_after_ns": 200_000_000}));
    assert_eq!(result["end"]["kind"], "stuck");
    let stuck = result["stuck"].as_array().expect("a list");
    assert!(stuck.iter().all(|s| s["op"] == "write" && s["age_ns"].as_u64() >= Some(200_000_000)));
    assert!(!stuck.is_empty());
}

#[test]
fn a_run_that_is_stopped_says_so() {
    let server = serve(json!({"shape": {"iops": 200.0}}));
    let run = start(job(&server, json!({}))).expect("a run");
    run.stop();
    let result = finished(&run);
    assert_eq!(result["end"]["kind"], "stopped");
    assert!(result["writes"].as_u64() < Some(BLOCKS));
}

#[test]
fn a_server_that_goes_ends_the_run_without_blaming_the_blocks() {
    let server = serve(json!({"shape": {"iops": 1000.0}}));
    let run = start(job(&server, json!({}))).expect("a run");
    while !run.poll().contains("\"writes\":1") {
        std::thread::sleep(Duration::from_millis(5));
    }
    server.stop();
    let result = finished(&run);
    assert_eq!(result["end"]["kind"], "carrier_lost");
    assert_eq!(named(&result), (vec![], vec![]));
    assert_eq!(result["write_failures"], json!([]));
}

#[test]
fn a_check_against_the_journal() {
    let folder = tempfile::tempdir().expect("folder");
    let journal = json!({"path": folder.path().join("j"), "sync": false});
    let server = serve(json!({}));
    let done = verified(&server, json!({"journal": journal}));
    assert_eq!(named(&done).0, vec![]);
    for loss in ["process", "power"] {
        let checked = verified(&server, json!({"journal": journal, "mode": "check", "loss": loss}));
        assert_eq!(named(&checked), (vec![], vec![]));
        assert_eq!(checked["writes"], 0);
        for (state, blocks) in [("acknowledged", BLOCKS), ("in_flight", 0), ("unflushed", 0)] {
            assert_eq!(checked["journal"][state], blocks, "{state}");
        }
    }
    // Another disk in its place: everything that was promised is missing.
    let empty = serve(json!({}));
    let checked = verified(&empty, json!({"journal": journal, "mode": "check"}));
    assert_eq!(named(&checked).0, vec![("foreign".to_owned(), BLOCKS)]);
    assert_eq!(checked["faults"][0]["what"], "zeroes");
    // And the run goes on.
    let resumed = verified(&server, json!({"journal": journal, "mode": "resume", "passes": 1}));
    assert_eq!((named(&resumed).0, resumed["passes"].clone()), (vec![], json!(4)));
    assert!(start(job(&server, json!({"journal": journal}))).is_err(), "a journal is never overwritten");
    assert!(start(job(&server, json!({"journal": journal, "mode": "check", "run": 1}))).is_err());
}
