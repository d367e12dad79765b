//! The backend of `nfs` targets.

use std::time::Duration;

use strata_proto::nfs::{NfsFile, NfsQueue, OpenSpec, Uri};

use crate::conductor::Epilogue;
use crate::control::Reason;
use crate::error::{Error, Result};
use crate::job::Sync;
use crate::outcome::{BuildInfo, Effective};
use crate::remote::{Remote, refusal, refused};
use crate::run::{Launch, Run};
use crate::worker::{Made, Recipe};

/// Longest wait for a connection and each answer before the load; the client bounds it further.
pub(crate) const PATIENCE: Duration = Duration::MAX;

/// Load the file over the connections asked for, or as many as its address asks for; each thread has its own.
pub(crate) fn launch(
    remote: &Remote<'_>,
    recipe: Recipe,
    build: BuildInfo,
    limit: Option<(u64, Reason)>,
) -> Result<Run> {
    // Found once before any thread starts.
    go(find(remote)?, remote, recipe, build, limit, None)
}

/// The file that is asked for.
pub(crate) fn find(remote: &Remote<'_>) -> Result<NfsFile> {
    let uri: Uri = remote.uri.parse().map_err(|e| Error::Job(vec![format!("target.uri: {e}")]))?;
    NfsFile::open(&uri.from_namespace(remote.namespace()), PATIENCE).map_err(refused)
}

/// Load a file that was found.
pub(crate) fn go(
    file: NfsFile,
    remote: &Remote<'_>,
    recipe: Recipe,
    build: BuildInfo,
    limit: Option<(u64, Reason)>,
    epilogue: Option<Epilogue>,
) -> Result<Run> {
    let uri = file.uri.clone();
    let (threads, depth, block) = (recipe.threads, recipe.depth, recipe.block_bytes);
    let connections = remote.connections.max(uri.connections.unwrap_or(1)).max(threads);
    // The protocol says with each write how durable it shall be; of the two ways that reach the medium one is used.
    let dsync = remote.sync != Sync::None;
    let end = recipe.pattern.end(0);
    if end > file.size_bytes {
        let why =
            format!("the blocks end at byte {end}, the file has {}; shorten the segments", file.size_bytes);
        return refusal(&uri, libc::EINVAL, &why);
    }
    let open = move |file: &NfsFile, depth, connections| {
        NfsQueue::open(file, OpenSpec { depth, block, connections, dsync }, PATIENCE).map_err(refused)
    };
    // What is wrong with all queues alike is said before any thread starts.
    drop(open(&file, 1, 1)?);
    let effective = Effective {
        direct: false,
        sync: remote.sync.name(),
        mem_align: 1,
        offset_align: 1,
        blocks: recipe.pattern.blocks(0),
        block_bytes: block,
        connections,
        netns: remote.netns.map(str::to_owned),
        targets: Vec::new(),
    };
    let endpoint = uri.to_string();
    let factory = move |thread: u32| {
        let queue = open(&file, depth, Remote::share(connections, thread, threads))?;
        let stable = if dsync { "file_sync" } else { "unstable" };
        Ok(Made { queue, setup: vec!["nfs3".to_owned(), stable.to_owned()] })
    };
    let kind = "nfs";
    Launch { recipe, factory, kind, fallback_reason: None, effective, endpoint, build, limit, epilogue }.go()
}
