//! From a configuration to a mounted directory, and away again.

use std::io;
use std::path::PathBuf;

use serde::Deserialize;
use strata_proto::nbd::server::StopOnSignals;

use super::files::Files;
use super::lower::ALIGN;
use super::remote::Remote;
use crate::mount::{MountOptions, place, until_stopped};

/// Requests that wait for their medium at once.
const THREADS: usize = 32;

/// What the directory shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// An empty directory: where the files appear.
    pub dir: PathBuf,
    /// Its regular files are shown; new ones are made there.
    pub lower: Option<PathBuf>,
    /// Files that are parts of devices or of other files.
    #[serde(default)]
    pub parts: Vec<Part>,
    /// Files on other nodes.
    #[serde(default)]
    pub remotes: Vec<Far>,
}

/// A file on another node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Far {
    /// Its name in the directory.
    pub name: String,
    /// `nbd://…` or `smb://…`, dialled from this process's network namespace.
    pub uri: String,
}

/// A part of a device or file, shown as a file of fixed length.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name in the directory.
    pub name: String,
    /// What it is a part of.
    pub path: PathBuf,
    /// Bytes before it; a multiple of 4096.
    pub offset: u64,
    /// Its bytes; a multiple of 4096.
    pub size: u64,
}

/// Serve the directory until SIGTERM or SIGINT, or until somebody unmounts it.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a part that is not aligned or an address that cannot be read; the system's error
/// for the directory or the mount, and the client's for a file on another node, each with its name.
pub fn run(config: &Config) -> io::Result<()> {
    for part in &config.parts {
        if part.offset % ALIGN != 0 || part.size % ALIGN != 0 || part.size == 0 {
            let why = format!("{}: offset and size are not multiples of {ALIGN}", part.name);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    }
    let (dir, uid, gid) = place(&config.dir)?;
    let signals = StopOnSignals::install()?;
    let remotes = config.remotes.iter().map(|far| Ok((far.name.clone(), Remote::open(&far.uri)?)));
    let remotes = remotes.collect::<io::Result<Vec<_>>>()?;
    let files = Files::new(config.lower.clone(), config.parts.clone(), remotes, (uid, gid));
    until_stopped(files, &dir, MountOptions { kind: "direct", uid, threads: THREADS }, &signals)
}
