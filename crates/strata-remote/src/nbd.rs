//! `nbd://`: an export of an NBD server.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use strata_proto::nbd::codec::{Export, consts};
use strata_proto::nbd::{self, NbdQueue, OpenSpec, Uri};

use crate::{Facts, Load, Scheme};

/// An export.
#[derive(Clone, Debug)]
pub struct Nbd {
    uri: Uri,
    export: Export,
}

fn queue(uri: &Uri, load: &Load, depth: u32, connections: u32) -> io::Result<NbdQueue> {
    // The wire knows one way only: FUA with each write.
    let spec = OpenSpec { depth, block: load.block, connections, dsync: load.dsync };
    NbdQueue::open_within(uri, spec, load.patience)
}

impl Scheme for Nbd {
    const NAME: &'static str = "nbd";
    const TRIED: bool = true;
    type Uri = Uri;
    type Queue = NbdQueue;

    fn open(uri: &Uri, load: &Load) -> io::Result<Self> {
        let export = queue(uri, load, 1, 1)?.export().clone();
        Ok(Self { uri: uri.clone(), export })
    }

    fn facts(&self) -> Facts {
        let export = &self.export;
        Facts {
            noun: "export",
            align: export.blocks.map_or(1, |blocks| blocks.minimum),
            read_only: export.has(consts::TX_READ_ONLY).then_some("read-only"),
            shared: export.has(consts::TX_CAN_MULTI_CONN),
            flushes: export.has(consts::TX_SEND_FLUSH),
            ..Facts::file(export.size_bytes)
        }
    }

    fn queue(&self, load: &Load, depth: u32, connections: u32) -> io::Result<NbdQueue> {
        queue(&self.uri, load, depth, connections)
    }

    fn setup(queue: &NbdQueue, _load: &Load) -> Vec<String> {
        vec![if queue.structured() { "structured_replies" } else { "simple_replies" }.to_owned()]
    }

    fn probe(uri: &Uri, rounds: u32, patience: Duration) -> io::Result<Value> {
        let seen = nbd::probe(uri, rounds, patience)?;
        let blocks = seen.export.blocks; // null where the server tells none
        Ok(json!({
            "size_bytes": seen.export.size_bytes,
            "flags": seen.export.flag_names(),
            "min_block": blocks.map(|blocks| blocks.minimum),
            "preferred_block": blocks.map(|blocks| blocks.preferred),
            "max_block": blocks.map(|blocks| blocks.maximum),
            "multi_conn": seen.export.has(consts::TX_CAN_MULTI_CONN),
            "structured": seen.structured,
            "connect_ns": seen.connect_ns,
            "rtt_ns": seen.rtt_ns,
            "tls": false,
        }))
    }

    fn read(uri: &Uri, offset: u64, length: u64, patience: Duration) -> io::Result<Vec<u8>> {
        nbd::read_range(uri, offset, length, patience)
    }
}
