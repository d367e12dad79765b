//! From a configuration to a mounted disk, and away again.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fuser::{MountOption, Session, SessionACL};
use rustix::mount::{UnmountFlags, unmount};
use serde::Deserialize;
use strata_proto::server::StopOnSignals;

use super::files::Files;
use super::store::Store;
use crate::model::{Model, Params};
use crate::words::size;

/// How often it is looked whether a signal came: the most that stopping takes longer.
const LOOK: Duration = Duration::from_millis(20);

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
    #[serde(default)]
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
    let dir = config.dir.canonicalize().map_err(|error| of_directory(&config.dir, &error))?;
    let about = dir.metadata().map_err(|error| of_directory(&dir, &error))?;
    let backing = config.backing.as_deref();
    let store = Store::open(size_bytes, backing)
        .map_err(|error| named(&error, backing.unwrap_or(Path::new("memory")), "cannot hold the disk"))?;
    let signals = StopOnSignals::install()?;
    let files = Files::new(store, model, (about.uid(), about.gid()))?;
    let session = Session::new(files, &dir, &options(about.uid()))
        .and_then(Session::spawn)
        .map_err(|error| named(&error, &dir, "cannot mount there"))?;
    while !signals.asked() && !session.guard.is_finished() {
        std::thread::sleep(LOOK);
    }
    let away = if session.guard.is_finished() { Ok(()) } else { detach(&dir) };
    // Dropped, it would unmount by path once more, and the path may be another's mount by now. Whoever still has
    // the disk open loses it when this process ends and the kernel's connection with it.
    std::mem::forget(session);
    away
}

fn options(uid: u32) -> fuser::Config {
    let mut options = fuser::Config::default();
    options.mount_options = vec![
        MountOption::FSName("strata-lab".to_owned()),
        MountOption::Subtype("disk".to_owned()),
        MountOption::DefaultPermissions,
        MountOption::NoAtime,
    ];
    // Root may let others in without a setting in /etc/fuse.conf: servers that run as their users need it.
    options.acl = if uid == 0 { SessionACL::All } else { SessionACL::Owner };
    options
}

/// Away from the tree at once, also when a loop device holds the file.
fn detach(dir: &Path) -> io::Result<()> {
    match unmount(dir, UnmountFlags::DETACH) {
        Err(rustix::io::Errno::PERM) => {
            let status = Command::new("fusermount3").arg("-u").arg("-z").arg("--").arg(dir).status()?;
            if status.success() {
                return Ok(());
            }
            Err(io::Error::other(format!("{}: fusermount3 -u ended with {status}", dir.display())))
        }
        Err(error) => Err(named(&error.into(), dir, "cannot unmount")),
        Ok(()) => Ok(()),
    }
}

fn of_directory(dir: &Path, error: &io::Error) -> io::Error {
    if error.raw_os_error() == Some(libc::ENOTCONN) {
        let why = format!("{}: a disk that crashed left its mount; umount -l removes it", dir.display());
        return io::Error::new(io::ErrorKind::NotConnected, why);
    }
    named(error, dir, "cannot use the directory")
}

fn named(error: &io::Error, path: &Path, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {what}: {error}", path.display()))
}
