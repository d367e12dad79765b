//! `nfs://`: a file on an NFS server, version 3.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use strata_proto::nfs::{self, NfsFile, NfsQueue, OpenSpec, Uri};

use crate::{Facts, Load, Scheme};

/// A file that was found.
pub type Nfs = NfsFile;

impl Scheme for NfsFile {
    const NAME: &'static str = "nfs";
    type Uri = Uri;
    type Queue = NfsQueue;

    fn open(uri: &Uri, load: &Load) -> io::Result<Self> {
        Self::open(uri, load.patience)
    }

    fn facts(&self) -> Facts {
        Facts { longest: Some(self.read_most.min(self.write_most)), ..Facts::file(self.size_bytes) }
    }

    fn queue(&self, load: &Load, depth: u32, connections: u32) -> io::Result<NfsQueue> {
        // The protocol says with each write how durable it shall be; of the two ways that reach the medium one is used.
        let spec = OpenSpec { depth, block: load.block, connections, dsync: load.dsync };
        NfsQueue::open(self, spec, load.patience)
    }

    fn setup(_queue: &NfsQueue, load: &Load) -> Vec<String> {
        let stable = if load.dsync { "file_sync" } else { "unstable" };
        vec!["nfs3".to_owned(), stable.to_owned()]
    }

    fn probe(uri: &Uri, rounds: u32, patience: Duration) -> io::Result<Value> {
        let seen = nfs::probe(uri, rounds, patience)?;
        Ok(json!({
            "size_bytes": seen.found.size_bytes,
            "file_id": seen.found.file_id,
            "read_most": seen.found.read_most,
            "write_most": seen.found.write_most,
            "multi_conn": true, // one server, one file: every connection sees the same
            "connect_ns": seen.connect_ns,
            "rtt_ns": seen.rtt_ns,
        }))
    }

    fn read(uri: &Uri, offset: u64, length: u64, patience: Duration) -> io::Result<Vec<u8>> {
        nfs::read_range(uri, offset, length, patience)
    }

    fn create(uri: &Uri, size_bytes: u64, header: &[u8], patience: Duration) -> io::Result<()> {
        nfs::create(uri, size_bytes, header, patience).map(drop)
    }

    /// The protocol removes by name: nothing holds the file between a look at its head and its end.
    fn remove(uri: &Uri, _header: &[u8], patience: Duration) -> io::Result<()> {
        nfs::remove(uri, patience)
    }

    fn write(&self, uri: &Uri, offset: u64, data: &[u8], flush: bool) -> io::Result<()> {
        nfs::write_range(uri, offset, data, Duration::MAX)?;
        if flush { self.commit(Duration::MAX) } else { Ok(()) }
    }
}
