//! The behaviour suite of every queue, on the one over SMB: our client on a real smbd.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

mod common;
#[path = "../../strata-io/tests/suite/mod.rs"]
mod suite;

use common::smbd;
use suite::{BLOCK, BLOCKS, behaves};

/// Beyond the end a file has a short read.
const BEYOND: Option<i32> = Some(0);

#[test]
fn plain_signed_and_sealed_over_one_and_several_connections() {
    let Some(server) = smbd("") else { return };
    server.file("data", BLOCK * BLOCKS as usize);
    for (options, depth, connections) in [
        ("", 1, 1),
        ("", 8, 1),
        ("sign=off", 8, 3),
        ("sign=on", 1, 1),
        ("sign=required", 8, 2),
        ("encrypt=on", 8, 2),
        ("multichannel=on", 8, 3),
        ("multichannel=on&sign=on", 8, 2),
        ("multichannel=on&encrypt=on", 8, 2),
    ] {
        eprintln!("{options:?} depth {depth}, {connections} connections");
        behaves(&mut server.queue(options, depth, BLOCK as u32, connections), depth, true, BEYOND);
    }
}
