//! From a configuration to a mounted disk, and away again.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use strata_proto::nbd::server::StopOnSignals;

use super::files::Files;
use super::store::Store;
use crate::model::{Model, Params};
use crate::mount::{MountOptions, named, place, until_stopped};
use crate::words::size;

/// What a disk is made of.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// An empty directory: where `disk` and `ctl` appear.
    pub dir: PathBuf,
    /// Bytes, or a number with KiB, MiB, GiB.
    pub size: String,
    /// `key=value` words of the model.
    #[serde(default)]
    pub model: String,
    /// A file that holds the content; without it the content is in memory and gone with the process.
    pub backing: Option<PathBuf>,
}

/// Serve the disk until SIGTERM or SIGINT, or until somebody unmounts it.
///
/// What is under way when a signal comes fails with EIO at a loop device on top; a device that stays is of no use any
/// more and can be detached.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a bad size or model; the system's error for the directory, the mount or the
/// backing, with its name.
pub fn run(config: &Config) -> io::Result<()> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
    let size_bytes = size(&config.size).map_err(|why| invalid(format!("size={}: {why}", config.size)))?;
    if size_bytes == 0 || size_bytes % 4096 != 0 || size_bytes > 1 << 50 {
        return Err(invalid(format!("size={}: not a multiple of 4096 from 4096 to 2^50", config.size)));
    }
    let params = Params::default().with(&config.model).map_err(invalid)?;
    let model = Model::new(size_bytes, params).map_err(invalid)?;
    let (dir, uid, gid) = place(&config.dir)?;
    let backing = config.backing.as_deref();
    let store = Store::open(size_bytes, backing)
        .map_err(|error| named(&error, backing.unwrap_or(Path::new("memory")), "cannot hold the disk"))?;
    let signals = StopOnSignals::install()?;
    let files = Files::new(store, model, (uid, gid))?;
    until_stopped(files, &dir, MountOptions { kind: "disk", uid, threads: 1 }, &signals)
}
