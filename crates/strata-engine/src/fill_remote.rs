//! Writing a whole test file behind a network once, as [`crate::fill`] does with one of this machine.

use std::sync::Arc;
use std::time::Duration;

use strata_pattern::{Rng, fill_incompressible};
use strata_remote::{Kind, Load, Place, Remote, Scheme, dispatch, refused};

use crate::collector::Epilogue;
use crate::control::Reason;
use crate::error::{Error, Result};
use crate::fill::{DEPTH, block_bytes, recipe};
use crate::job::Sync;
use crate::outcome::BuildInfo;
use crate::remote;
use crate::run::Run;

/// Blocks for servers that take no longer ones.
const SMALLER: [u32; 2] = [32 << 10, 4096];

/// A remote file to fill.
#[derive(Clone, Debug)]
pub struct RemoteFillSpec {
    /// Where it is: an existing file of at least `size_bytes`.
    pub place: Place,
    /// How much of it, from the beginning.
    pub size_bytes: u64,
    /// Seed of the data.
    pub seed: u64,
    /// The first bytes (at most 4096); the rest of the first block is random.
    pub header: Vec<u8>,
}

/// Fill a remote file: the first block, header included, is written when this returns; then all other whole blocks by the
/// load loop; at the end what is left, and a flush.
///
/// # Errors
/// The sizes do not fit, the server cannot be reached, or the first block cannot be written.
pub fn fill_remote(spec: &RemoteFillSpec, build: BuildInfo) -> Result<Run> {
    let kind = Kind::of(&spec.place.uri).map_err(refused)?;
    dispatch!(kind, S => fill::<S>(spec, build))
}

fn fill<S: Scheme>(spec: &RemoteFillSpec, build: BuildInfo) -> Result<Run> {
    let &RemoteFillSpec { ref place, size_bytes, seed, ref header } = spec;
    let fitting = block_bytes(size_bytes, header)?;
    let load = Load {
        threads: 1,
        depth: DEPTH,
        block: fitting,
        connections: 1,
        write: true,
        dsync: false,
        dsync_open: false,
        unbuffered: false,
        patience: Duration::MAX,
    };
    let mut remote = Remote::<S>::open(place, load)?;
    let facts = remote.there.facts();
    let fits = |block: &u32| facts.longest.is_none_or(|most| *block <= most);
    let block = [fitting, SMALLER[0]].into_iter().find(fits).unwrap_or(SMALLER[1]);
    remote.load.block = block;
    let (blocks, step) = (size_bytes / u64::from(block), u64::from(block));
    let whole = blocks * step;
    let recipe = recipe(whole, seed, block)?;
    if facts.size_bytes < size_bytes {
        let (uri, there) = (&remote.uri, facts.size_bytes);
        let why = format!("{uri}: cannot fill {size_bytes} bytes of a file of {there}; extend it first");
        return Err(Error::system(why, std::io::Error::from_raw_os_error(libc::EINVAL)));
    }
    let random = |bytes: u64, stream: u64| {
        let mut data = vec![0; bytes as usize];
        fill_incompressible(&mut data, &mut Rng::new(seed ^ stream, 3 << 32));
        data
    };
    let mut first = random(step, 0);
    first[..header.len()].copy_from_slice(header);
    let (there, uri, tail) = (remote.there.clone(), remote.uri.clone(), random(size_bytes - whole, 1));
    there.write(&uri, 0, &first, false).map_err(refused)?;
    let epilogue: Epilogue = Arc::new(move |reason| match reason {
        Reason::Ios => there.write(&uri, whole, &tail, true).map_err(refused),
        _ => Ok(()),
    });
    let netns = place.netns.as_ref().map(|path| path.display().to_string());
    remote::go(remote, Sync::None, netns, recipe, build, Some((blocks - 1, Reason::Ios)), Some(epilogue))
}
