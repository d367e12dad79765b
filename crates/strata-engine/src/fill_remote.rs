//! Writing a whole test file behind a network once, as [`crate::fill`] does with one of this machine.

use std::sync::Arc;

use strata_pattern::{Rng, fill_incompressible};
use strata_proto::nfs;

use crate::conductor::Epilogue;
use crate::control::Reason;
use crate::error::Result;
use crate::fill::{block_bytes, recipe};
use crate::job::Sync;
use crate::outcome::BuildInfo;
use crate::remote::{Remote, refusal, refused};
use crate::run::Run;

/// A remote file to fill.
#[derive(Clone, Debug)]
pub struct RemoteFillSpec {
    /// Where it is: an `nfs://` address of an existing file of at least `size_bytes`.
    pub uri: String,
    /// The network namespace it is dialled from.
    pub netns: Option<String>,
    /// How much of it, from the beginning.
    pub size_bytes: u64,
    /// Seed of the data.
    pub seed: u64,
    /// The first bytes (at most 4096); the rest of the first block is random.
    pub header: Vec<u8>,
}

/// Fill a remote file: the first block, header included, is on the server's medium when this returns; then all other
/// whole blocks by the load loop; at the end what is left, and a COMMIT.
///
/// # Errors
/// The sizes do not fit, the server cannot be reached, or the first block cannot be written.
pub fn fill_remote(spec: &RemoteFillSpec, build: BuildInfo) -> Result<Run> {
    let netns = spec.netns.as_deref();
    let remote = Remote { uri: &spec.uri, netns, connections: 1, sync: Sync::None, write: true };
    let file = crate::nfs::find(&remote)?;
    let block = block_bytes(spec.size_bytes, &spec.header, file.write_most.min(file.read_most))?;
    let whole = spec.size_bytes / u64::from(block) * u64::from(block);
    let (recipe, blocks) = recipe(whole, block, spec.seed)?;
    if file.size_bytes < spec.size_bytes {
        let why = format!(
            "cannot fill {} bytes of a file of {}; extend it first",
            spec.size_bytes, file.size_bytes
        );
        return refusal(&file.uri, libc::EINVAL, &why);
    }
    let random = |bytes: u64, stream: u64| {
        let mut data = vec![0; bytes as usize];
        fill_incompressible(&mut data, &mut Rng::new(spec.seed ^ stream, 3 << 32));
        data
    };
    let mut first = random(block.into(), 0);
    first[..spec.header.len()].copy_from_slice(&spec.header);
    nfs::write_range(&file.uri, 0, &first, crate::nfs::PATIENCE).map_err(refused)?;
    let (found, tail) = (file.clone(), random(spec.size_bytes - whole, 1));
    let epilogue: Epilogue = Arc::new(move |reason| {
        if reason != Reason::Ios {
            return Ok(());
        }
        nfs::write_range(&found.uri, whole, &tail, crate::nfs::PATIENCE).map_err(refused)?;
        found.commit(crate::nfs::PATIENCE).map_err(refused)
    });
    crate::nfs::go(file, &remote, recipe, build, Some((blocks, Reason::Ios)), Some(epilogue))
}
