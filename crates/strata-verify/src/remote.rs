//! Opening files on NFS servers and units of iSCSI targets for a verification.

use std::time::Duration;

use strata_proto::{iscsi, nfs};

use crate::error::{Error, Result};
use crate::job::{Job, Mode};
use crate::targets::{Engine, Launch, refused};

/// What a job says of a target behind a network.
pub(crate) struct Remote<'a> {
    pub uri: &'a str,
    pub connections: u32,
    pub dsync: bool,
}

/// What the target is, for the checks before the first I/O.
struct Facts {
    size_bytes: u64,
    /// Least length and step of an I/O, in bytes.
    align: u64,
    read_only: bool,
}

pub(crate) fn nfs<L: Launch>(job: &Job, launch: L, remote: &Remote<'_>) -> Result<L::Done> {
    let uri: nfs::Uri = remote.uri.parse().map_err(address)?;
    let (patience, connections) = before(job, remote, uri.connections);
    let file = nfs::NfsFile::open(&uri, patience).map_err(refused)?;
    fits(job, remote.uri, &Facts { size_bytes: file.size_bytes, align: 1, read_only: false })?;
    let (depth, block, dsync) = (job.slots(), job.bs, remote.dsync);
    let threads = job.threads;
    launch.go(engine("nfs", remote, connections), move |thread| {
        let spec = nfs::OpenSpec { depth, block, connections: share(connections, thread, threads), dsync };
        nfs::NfsQueue::open(&file, spec, patience).map_err(refused)
    })
}

pub(crate) fn iscsi<L: Launch>(job: &Job, launch: L, remote: &Remote<'_>) -> Result<L::Done> {
    let uri: iscsi::Uri = remote.uri.parse().map_err(address)?;
    let (patience, connections) = before(job, remote, uri.connections);
    let unit = iscsi::Unit::open(&uri, patience).map_err(refused)?;
    let align = unit.block_bytes.into();
    fits(job, remote.uri, &Facts { size_bytes: unit.size_bytes, align, read_only: unit.read_only })?;
    let (depth, block, dsync) = (job.slots(), job.bs, remote.dsync);
    let threads = job.threads;
    launch.go(engine("iscsi", remote, connections), move |thread| {
        let spec = iscsi::OpenSpec { depth, block, connections: share(connections, thread, threads), dsync };
        iscsi::IscsiQueue::open(&unit, spec, patience).map_err(refused)
    })
}

/// How long to wait for an answer before the load, and how many connections there are over all threads.
fn before(job: &Job, remote: &Remote<'_>, wished: Option<u32>) -> (Duration, u32) {
    let connections = remote.connections.max(wished.unwrap_or(1)).max(job.threads);
    (Duration::from_nanos(job.stuck_after_ns), connections)
}

fn share(all: u32, thread: u32, threads: u32) -> u32 {
    all / threads + u32::from(thread < all % threads)
}

fn engine(kind: &'static str, remote: &Remote<'_>, connections: u32) -> Engine {
    Engine { kind, fallback_reason: None, direct: false, dsync: remote.dsync, connections }
}

fn address(error: std::io::Error) -> Error {
    Error::Job(vec![format!("target.uri: {error}")])
}

fn fits(job: &Job, uri: &str, facts: &Facts) -> Result<()> {
    let refuse = |errno: i32, why: String| {
        let source = std::io::Error::from_raw_os_error(errno);
        Err(Error::Io(strata_io::Error { what: format!("{uri}: {why}"), path: None, source }))
    };
    if job.mode != Mode::Check && facts.read_only {
        return refuse(libc::EROFS, "it is write-protected".to_owned());
    }
    let (end, size, align) = (job.first_byte + job.blocks * u64::from(job.bs), facts.size_bytes, facts.align);
    if end > size {
        return refuse(
            libc::EINVAL,
            format!("the blocks end at byte {end}, it has {size}; use a smaller size"),
        );
    }
    if !(job.first_byte | u64::from(job.bs)).is_multiple_of(align) {
        return refuse(libc::EINVAL, format!("it takes multiples of {align} bytes; choose such a bs"));
    }
    Ok(())
}
