//! The same over a file, through io_uring and through blocking calls.

mod common;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use common::merge;
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;
const BS: u64 = 8192;
const BLOCKS: u64 = 4 * MIB / BS;

fn verified(path: &Path, engine: &str, mode: &str) -> Value {
    verified_with(path, engine, mode, json!({}))
}

fn verified_with(path: &Path, engine: &str, mode: &str, extra: Value) -> Value {
    let mut job = json!({
        "target": {"kind": "file", "path": path, "direct": false, "dsync": false}, "endpoint": "file",
        "first_byte": MIB, "blocks": BLOCKS, "bs": BS, "run": 99, "mode": mode, "flush_every": 64, "list": 10,
        "journal": {"path": path.with_extension("journal"), "sync": true}, "engine": engine,
    });
    merge(&mut job, extra);
    common::verified(common::job(job))
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

/// Eight blocks, each with a flushed first write, an acknowledged second and a third in flight when everything stopped;
/// what is found in them then is chosen here.
#[test]
fn what_a_kill_and_what_a_power_loss_may_leave() {
    use strata_verify::block_states::Event::{Acked, FlushBegun, Flushed, Issued};
    use strata_verify::journal;

    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("file");
    let head = journal::Head {
        mark: None,
        run: 99,
        endpoint: "file".into(),
        first_byte: MIB,
        blocks: 8,
        block_bytes: BS as u32,
        sector_bytes: 512,
        durable: false,
    };
    let (layout, blocks) = (head.layout(), 0..8);
    let mut journal = head.encode().expect("plain");
    for after in [FlushBegun(0), Flushed(0)] {
        for block in blocks.clone() {
            journal.extend(journal::frame(&[Issued(block), Acked(block)]));
        }
        journal.extend(journal::frame(&[after]));
    }
    for block in blocks.clone() {
        journal.extend(journal::frame(&[Issued(block)]));
    }
    std::fs::write(path.with_extension("journal"), &journal).expect("room");
    let file = File::create(&path).expect("room");
    file.set_len(MIB + 8 * BS).expect("room");
    // The generation of the first half of the block, and of the second.
    let left = [(1, 1), (2, 2), (3, 3), (1, 2), (2, 3), (3, 1), (0, 0), (3, 3)];
    for (block, (first, second)) in blocks.zip(left) {
        let offset = layout.offset(block);
        let mut bytes = vec![0; BS as usize];
        let mut other = bytes.clone();
        if first > 0 {
            layout.write(&mut bytes, offset, first);
            layout.write(&mut other, offset, second);
        }
        bytes[BS as usize / 2..].copy_from_slice(&other[BS as usize / 2..]);
        file.write_all_at(&bytes, offset).expect("room");
    }
    let found = |loss: &str, atomic: bool| {
        let extra = json!({"blocks": 8, "loss": loss, "atomic": atomic});
        let checked = verified_with(&path, "pool", "check", extra);
        let faults = checked["faults"].as_array().expect("faults").iter();
        let named: Vec<_> = faults
            .map(|f| {
                let block = (f["offset"].as_u64().expect("an offset") - MIB) / BS;
                (block, f["kind"].as_str().expect("a kind").to_owned())
            })
            .collect();
        let counts = &checked["in_flight"];
        let of = |key: &str| counts[key].as_u64().expect("a count");
        (named, (of("new"), of("old"), of("torn")))
    };
    let fault = |block, kind: &str| (block, kind.to_owned());
    // A kill: the second write has to be there, the third may be, whole or torn.
    let killed = [fault(0, "lost"), fault(3, "torn"), fault(5, "torn"), fault(6, "foreign")];
    assert_eq!(found("process", false), (killed.to_vec(), (2, 1, 1)));
    // A power loss: the first has to be there, all else may be.
    assert_eq!(found("power", false), (vec![fault(6, "foreign")], (2, 2, 3)));
    // Where writes are promised to be atomic, none may be torn.
    let torn = [fault(3, "torn"), fault(4, "torn"), fault(5, "torn"), fault(6, "foreign")];
    assert_eq!(found("power", true), (torn.to_vec(), (2, 2, 0)));
}
