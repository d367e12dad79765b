//! `iscsi://`: a logical unit of an iSCSI target.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use strata_proto::iscsi::{self, IscsiQueue, OpenSpec, Unit, Uri};

use crate::{Facts, Load, Scheme};

/// A logical unit.
pub type Iscsi = Unit;

impl Scheme for Unit {
    const NAME: &'static str = "iscsi";
    type Uri = Uri;
    type Queue = IscsiQueue;

    fn open(uri: &Uri, load: &Load) -> io::Result<Self> {
        Self::open(uri, load.patience)
    }

    fn facts(&self) -> Facts {
        Facts {
            noun: "unit",
            align: self.block_bytes,
            blocks: true,
            read_only: self.read_only.then_some("write-protected"),
            ..Facts::file(self.size_bytes)
        }
    }

    fn queue(&self, load: &Load, depth: u32, connections: u32) -> io::Result<IscsiQueue> {
        // The wire knows one way only: FUA with each write.
        let spec = OpenSpec { depth, block: load.block, connections, dsync: load.dsync };
        IscsiQueue::open(self, spec, load.patience)
    }

    fn setup(_queue: &IscsiQueue, _load: &Load) -> Vec<String> {
        vec!["no_digests".to_owned()]
    }

    fn probe(uri: &Uri, rounds: u32, patience: Duration) -> io::Result<Value> {
        let seen = iscsi::probe(uri, rounds, patience)?;
        Ok(json!({
            "size_bytes": seen.found.size_bytes,
            "min_block": seen.found.block_bytes,
            "product": seen.found.product,
            "read_only": seen.found.read_only,
            "fua": seen.found.fua,
            "multi_conn": true, // sessions with one unit see one disk
            "connect_ns": seen.connect_ns,
            "rtt_ns": seen.rtt_ns,
        }))
    }

    fn read(uri: &Uri, offset: u64, length: u64, patience: Duration) -> io::Result<Vec<u8>> {
        iscsi::read_range(uri, offset, length, patience)
    }
}
