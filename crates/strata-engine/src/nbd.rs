//! The backend of `nbd` targets.

use strata_proto::client::{NbdQueue, OpenSpec, Uri};
use strata_proto::codec::consts;

use crate::control::Reason;
use crate::error::{Error, Result};
use crate::job::Sync;
use crate::outcome::{BuildInfo, Effective};
use crate::remote::{Remote, refusal, refused};
use crate::run::{Launch, Run};
use crate::worker::{Made, Recipe};

/// Load the export over the connections asked for, or as many as its address asks for.
///
/// Every thread has connections of its own: with more threads than connections asked for, there
/// is one for each thread, and `effective.connections` says so.
pub(crate) fn launch(
    remote: &Remote<'_>,
    recipe: Recipe,
    build: BuildInfo,
    limit: Option<(u64, Reason)>,
) -> Result<Run> {
    let uri: Uri = remote.uri.parse().map_err(|e| Error::Job(vec![format!("target.uri: {e}")]))?;
    let uri = uri.from_namespace(remote.namespace());
    let (threads, sync) = (recipe.threads, remote.sync);
    let connections = remote.connections.max(uri.connections.unwrap_or(1)).max(threads);
    // The wire knows one way only: FUA with each write.
    let dsync = sync != Sync::None;
    let (depth, block) = (recipe.depth, recipe.block_bytes);
    let open = move |uri: &Uri, depth, connections| {
        NbdQueue::open(uri, OpenSpec { depth, block, connections, dsync }).map_err(refused)
    };
    let endpoint = uri.to_string();
    // Asked once before any thread starts, to know what the export is.
    let first = open(&uri, 1, 1)?;
    let offset_align = first.export().blocks.map_or(1, |blocks| blocks.minimum);
    fits(&recipe, &uri, &first, connections, remote.write)?;
    drop(first);
    let effective = Effective {
        direct: false,
        sync: sync.name(),
        mem_align: 1,
        offset_align,
        blocks: recipe.pattern.blocks(0),
        block_bytes: block,
        connections,
        netns: remote.netns.map(str::to_owned),
        targets: Vec::new(),
    };
    let factory = move |thread: u32| {
        let queue = open(&uri, depth, Remote::share(connections, thread, threads))?;
        let structured = if queue.structured() { "structured_replies" } else { "simple_replies" };
        Ok(Made { queue, setup: vec![structured.to_owned()] })
    };
    Launch {
        recipe,
        factory,
        kind: "nbd",
        fallback_reason: None,
        effective,
        endpoint,
        build,
        limit,
        epilogue: None,
    }
    .go()
}

/// Whether the export can do what the job asks.
fn fits(recipe: &Recipe, uri: &Uri, first: &NbdQueue, connections: u32, write: bool) -> Result<()> {
    let export = first.export();
    let refuse = |errno, why: String| refusal(uri, errno, &why);
    if connections > 1 && !export.has(consts::TX_CAN_MULTI_CONN) {
        let why = "the server does not promise one coherent disk over several connections (CAN_MULTI_CONN)";
        return refuse(
            libc::EOPNOTSUPP,
            format!("{why}, {connections} are needed; use connections=1, threads=1"),
        );
    }
    if write && export.has(consts::TX_READ_ONLY) {
        return refuse(libc::EROFS, "the export is read-only and the workload writes".to_owned());
    }
    if recipe.pattern.flush.is_some() && !export.has(consts::TX_SEND_FLUSH) {
        let why = "the server does not offer flushes, which fsync and fdatasync need; leave them out";
        return refuse(libc::EOPNOTSUPP, why.to_owned());
    }
    let end = recipe.pattern.end(0);
    if end > export.size_bytes {
        let size = export.size_bytes;
        return refuse(
            libc::EINVAL,
            format!("the blocks end at byte {end}, the export has {size}; shorten the segments"),
        );
    }
    let align = export.blocks.map_or(1, |blocks| blocks.minimum);
    match recipe.pattern.misaligned(0, align.into()) {
        Some(offset) => refuse(
            libc::EINVAL,
            format!(
                "it takes offsets of a multiple of {align} bytes, a block lies at {offset}; move the segments"
            ),
        ),
        None => Ok(()),
    }
}
