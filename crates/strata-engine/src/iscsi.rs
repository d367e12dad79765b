//! The backend of `iscsi` targets.

use std::time::Duration;

use strata_proto::iscsi::{IscsiQueue, OpenSpec, Unit, Uri};

use crate::control::Reason;
use crate::error::{Error, Result};
use crate::job::Sync;
use crate::outcome::{BuildInfo, Effective};
use crate::remote::{Remote, refusal, refused};
use crate::run::{Launch, Run};
use crate::worker::{Made, Recipe};

/// Longest wait for a connection and each answer before the load; the client bounds it further.
const PATIENCE: Duration = Duration::MAX;

/// Load the unit over the sessions asked for, or as many as its address asks for; each thread has its own.
pub(crate) fn launch(
    remote: &Remote<'_>,
    recipe: Recipe,
    build: BuildInfo,
    limit: Option<(u64, Reason)>,
) -> Result<Run> {
    let uri: Uri = remote.uri.parse().map_err(|e| Error::Job(vec![format!("target.uri: {e}")]))?;
    let uri = uri.from_namespace(remote.namespace());
    let (threads, depth, block) = (recipe.threads, recipe.depth, recipe.block_bytes);
    let connections = remote.connections.max(uri.connections.unwrap_or(1)).max(threads);
    // The wire knows one way only: FUA with each write.
    let dsync = remote.sync != Sync::None;
    // Looked at once before any thread starts.
    let unit = Unit::open(&uri, PATIENCE).map_err(refused)?;
    fits(&recipe, &unit, remote.write)?;
    let open = move |unit: &Unit, depth, connections| {
        IscsiQueue::open(unit, OpenSpec { depth, block, connections, dsync }, PATIENCE).map_err(refused)
    };
    // What is wrong with all queues alike is said before any thread starts.
    drop(open(&unit, 1, 1)?);
    let effective = Effective {
        direct: false,
        sync: remote.sync.name(),
        mem_align: 1,
        offset_align: unit.block_bytes,
        blocks: recipe.pattern.blocks(0),
        block_bytes: block,
        connections,
        netns: remote.netns.map(str::to_owned),
        targets: Vec::new(),
    };
    let endpoint = uri.to_string();
    let factory = move |thread: u32| {
        let queue = open(&unit, depth, Remote::share(connections, thread, threads))?;
        Ok(Made { queue, setup: vec!["no_digests".to_owned()] })
    };
    let kind = "iscsi";
    Launch { recipe, factory, kind, fallback_reason: None, effective, endpoint, build, limit, epilogue: None }
        .go()
}

/// Whether the unit can do what the job asks.
fn fits(recipe: &Recipe, unit: &Unit, write: bool) -> Result<()> {
    let (uri, end, size) = (&unit.uri, recipe.pattern.end(0), unit.size_bytes);
    if write && unit.read_only {
        return refusal(uri, libc::EROFS, "the unit is write-protected and the workload writes");
    }
    if end > size {
        let why = format!("the blocks end at byte {end}, the unit has {size}; shorten the segments");
        return refusal(uri, libc::EINVAL, &why);
    }
    let align = unit.block_bytes;
    if let Some(bytes) = recipe.pattern.sizes.all().find(|bytes| !bytes.is_multiple_of(align)) {
        let why = format!("its blocks have {align} bytes, bs is {bytes}; choose a multiple");
        return refusal(uri, libc::EINVAL, &why);
    }
    match recipe.pattern.misaligned(0, align.into()) {
        Some(offset) => {
            let why =
                format!("its blocks have {align} bytes, an I/O begins at byte {offset}; move the segments");
            refusal(uri, libc::EINVAL, &why)
        }
        None => Ok(()),
    }
}
