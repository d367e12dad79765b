//! The backend of `smb` targets.

use std::io;

use strata_smb::{OpenSpec, Password, SmbQueue, Uri};

use crate::conductor::Epilogue;
use crate::control::Reason;
use crate::error::{Error, Result};
use crate::job::Sync;
use crate::outcome::{BuildInfo, Effective, EffectiveSmb};
use crate::remote::{Remote, refused};
use crate::run::{Launch, Run};
use crate::worker::{Made, Recipe};

/// Bytes that one credit pays for.
const CREDIT_BYTES: u32 = 64 * 1024;

/// How a file on a share is loaded.
pub(crate) struct Manner {
    pub connections: u32,
    pub sync: Sync,
    pub write: bool,
    pub unbuffered: bool,
    pub epilogue: Option<Epilogue>,
}

/// The address of a target, with the password that came beside it.
pub(crate) fn address(remote: &Remote<'_>, password: Option<Password>) -> Result<Uri> {
    let uri: Uri = remote.uri.parse().map_err(|e| Error::Job(vec![format!("target.uri: {e}")]))?;
    Ok(uri.with_password(password).from_namespace(remote.namespace()))
}

/// Load the file on a share over the connections asked for, or as many as its address asks for.
///
/// Every thread has connections of its own, as with NBD.
pub(crate) fn launch(
    uri: Uri,
    manner: Manner,
    recipe: Recipe,
    build: BuildInfo,
    limit: Option<(u64, Reason)>,
) -> Result<Run> {
    let Manner { connections, sync, write, unbuffered, epilogue } = manner;
    let threads = recipe.threads;
    let connections = connections.max(uri.connections.unwrap_or(1)).max(threads);
    let (depth, block) = (recipe.depth, recipe.block_bytes);
    // The open file promises it for all writes; where a server looks at the flag of each write alone, that is there too.
    let (through, through_each) = (sync == Sync::Dsync, sync != Sync::None);
    let open = move |uri: &Uri, depth, connections| {
        SmbQueue::open(uri, OpenSpec { depth, block, connections, write, through, through_each, unbuffered })
            .map_err(refused)
    };
    let own = Remote::share(connections, 0, threads);
    // Asked once before any thread starts, as one connection of a thread will: to know what the file and the server are.
    let first = open(&uri, depth.div_ceil(own), 1)?;
    fits(&recipe, &uri, first.size_bytes())?;
    let told = *first.agreed();
    drop(first);
    let effective = Effective {
        // The server's cache is the server's: what was asked of it stands in `smb`.
        direct: false,
        sync: sync.name(),
        mem_align: 1,
        offset_align: 1,
        blocks: recipe.pattern.blocks(0),
        block_bytes: block,
        connections,
        netns: uri.netns.as_ref().map(|path| path.display().to_string()),
        smb: Some(EffectiveSmb {
            dialect: told.dialect,
            signing: told.signing,
            encryption: told.encryption,
            sessions: if uri.multichannel { threads } else { connections },
            channels: if uri.multichannel { own } else { 1 },
            max_read_bytes: told.max_read,
            max_write_bytes: told.max_write,
            credits: told.credits,
            credits_needed: depth.div_ceil(own).saturating_mul(block.div_ceil(CREDIT_BYTES)),
            unbuffered_asked: unbuffered,
        }),
        targets: Vec::new(),
    };
    let endpoint = uri.to_string();
    let factory = move |thread: u32| {
        let queue = open(&uri, depth, Remote::share(connections, thread, threads))?;
        let told = *queue.agreed();
        let protected = [format!("signing {}", told.signing), format!("encryption {}", told.encryption)];
        Ok(Made { queue, setup: [told.dialect.to_owned()].into_iter().chain(protected).collect() })
    };
    Launch {
        recipe,
        factory,
        kind: "smb",
        fallback_reason: None,
        effective,
        endpoint,
        build,
        limit,
        epilogue,
    }
    .go()
}

fn fits(recipe: &Recipe, uri: &Uri, size_bytes: u64) -> Result<()> {
    let end = recipe.pattern.end(0);
    if end <= size_bytes {
        return Ok(());
    }
    let what =
        format!("{uri}: the blocks end at byte {end}, the file has {size_bytes}; shorten the segments");
    let source = io::Error::from_raw_os_error(libc::EINVAL);
    Err(Error::Io(strata_io::Error { what, path: None, source }))
}
