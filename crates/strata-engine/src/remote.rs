//! The backend of whatever is behind a network, over the queue of its scheme.

use std::time::Duration;

use strata_remote::{Facts, Load, Need, Place, Remote, Scheme, refused};

use crate::collector::Epilogue;
use crate::control::Reason;
use crate::error::{Error, Result};
use crate::job::{self, Sync};
use crate::outcome::{BuildInfo, Effective};
use crate::run::{Launch, Run};
use crate::worker::{Made, Recipe};

/// Load what a job names, over the connections asked for, or as many as its address asks for.
pub(crate) fn launch<S: Scheme>(
    asked: &job::Remote,
    write: bool,
    recipe: Recipe,
    build: BuildInfo,
    limit: Option<(u64, Reason)>,
) -> Result<Run> {
    let job::Remote { uri, password, connections, direct, sync, netns } = asked;
    let place = Place { uri: uri.clone(), netns: netns.as_ref().map(Into::into), password: password.clone() };
    let load = Load {
        threads: recipe.threads,
        depth: recipe.depth,
        block: recipe.block_bytes,
        connections: *connections,
        write,
        dsync: *sync != Sync::None,
        dsync_open: *sync == Sync::Dsync,
        unbuffered: *direct,
        patience: Duration::MAX,
    };
    let remote = Remote::<S>::open(&place, load)?;
    go(remote, *sync, netns.clone(), recipe, build, limit, None)
}

/// Load what was looked at.
pub(crate) fn go<S: Scheme>(
    remote: Remote<S>,
    sync: Sync,
    netns: Option<String>,
    recipe: Recipe,
    build: BuildInfo,
    limit: Option<(u64, Reason)>,
    epilogue: Option<Epilogue>,
) -> Result<Run> {
    let facts = remote.there.facts();
    fits(&remote, &facts, &recipe)?;
    remote.try_queue().map_err(refused)?;
    let effective = Effective {
        sync: sync.name(),
        offset_align: facts.align,
        connections: remote.load.connections,
        netns,
        agreed: remote.there.agreed(&remote.load).into_iter().collect(),
        // A server's cache is the server's.
        ..Effective::plain(recipe.pattern.blocks(0), recipe.block_bytes)
    };
    let endpoint = remote.uri.to_string();
    let factory = move |thread: u32| {
        let queue = remote.queue(thread).map_err(refused)?;
        let setup = S::setup(&queue, &remote.load);
        Ok(Made { queue, setup })
    };
    Launch { recipe, effective, endpoint, build, limit, epilogue }.go(S::NAME, None, factory)
}

/// Whether it can do what the job asks.
fn fits<S: Scheme>(remote: &Remote<S>, facts: &Facts, recipe: &Recipe) -> Result<()> {
    let need = Need {
        connections: remote.load.connections,
        write: remote.load.write,
        writes: " and the workload writes",
        flush: recipe.pattern.flush.is_some(),
        end: recipe.pattern.end(0),
        shorter: "shorten the segments",
    };
    facts.check(&remote.uri, &need).map_err(refused)?;
    let (align, uri) = (facts.align, &remote.uri);
    let odd = facts.blocks.then(|| recipe.pattern.sizes.all().find(|bytes| !bytes.is_multiple_of(align)));
    let why = match (odd.flatten(), recipe.pattern.misaligned(0, align.into())) {
        (Some(bytes), _) => {
            format!("{uri}: its blocks have {align} bytes, bs is {bytes}; choose a multiple")
        }
        (None, Some(offset)) if facts.blocks => {
            format!("{uri}: its blocks have {align} bytes, an I/O begins at byte {offset}; move the segments")
        }
        (None, Some(offset)) => format!(
            "{uri}: it takes offsets of a multiple of {align} bytes, a block lies at {offset}; move the segments"
        ),
        (None, None) => return Ok(()),
    };
    Err(Error::system(why, std::io::Error::from_raw_os_error(libc::EINVAL)))
}
