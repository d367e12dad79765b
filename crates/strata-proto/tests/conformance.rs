//! The behaviour suite of every queue, on the one over NBD: our client on our server.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

mod common;
#[path = "../../strata-io/tests/suite/mod.rs"]
mod suite;

use common::target;
use suite::{BLOCK, BLOCKS, behaves};

/// Beyond the end the protocol has an error; a file has a short read.
const REFUSED: Option<i32> = Some(-libc::EINVAL);

fn backing(kind: &str) -> String {
    format!(r#"{{"kind":"{kind}","size_bytes":{}}}"#, BLOCK as u64 * BLOCKS)
}

#[test]
fn memory_over_one_and_several_connections() {
    for (depth, connections) in [(1, 1), (3, 1), (8, 1), (8, 3)] {
        let target = target(&backing("memory"), "{}");
        behaves(&mut target.queue(depth, BLOCK as u32, connections), depth, true, REFUSED);
        let target = target.structured();
        behaves(&mut target.queue(depth, BLOCK as u32, connections), depth, true, REFUSED);
    }
}

#[test]
fn memory_served_by_a_pool_behind_a_wire() {
    // Out of the reading thread, so that replies come back in an order of their own.
    let shape = r#"{"service_threads":3,"service_time_ns":200000,"latency_ns":300000,"bandwidth_bytes_per_s":500000000}"#;
    let target = target(&backing("memory"), shape);
    behaves(&mut target.queue(8, BLOCK as u32, 2), 8, true, REFUSED);
}

#[test]
fn null() {
    let target = target(&backing("null"), "{}");
    behaves(&mut target.queue(4, BLOCK as u32, 1), 4, false, REFUSED);
}
