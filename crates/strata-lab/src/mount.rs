//! A file system of a lab, mounted until a signal comes, and away again.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fuser::{MountOption, Session, SessionACL};
use rustix::mount::{UnmountFlags, unmount};
use strata_proto::nbd::server::StopOnSignals;

use crate::served::{Directory, Served};

/// How often it is looked whether a signal came: the most that stopping takes longer.
const LOOK: Duration = Duration::from_millis(20);

/// What of it the kernel is told.
#[derive(Clone, Copy, Debug)]
pub struct MountOptions {
    /// The kind, as the table of mounts shows it behind `fuse.`.
    pub kind: &'static str,
    /// Whose the directory is; root lets others in.
    pub uid: u32,
    /// So many requests are answered at once, each by a thread that may wait.
    pub threads: usize,
}

/// Serve until SIGTERM or SIGINT, or until somebody unmounts it.
pub fn until_stopped(
    files: impl Directory,
    dir: &Path,
    told: MountOptions,
    signals: &StopOnSignals,
) -> io::Result<()> {
    let session = Session::new(Served(files), dir, &options(told))
        .and_then(Session::spawn)
        .map_err(|error| named(&error, dir, "cannot mount there"))?;
    while !signals.asked() && !session.guard.is_finished() {
        std::thread::sleep(LOOK);
    }
    let away = if session.guard.is_finished() { Ok(()) } else { detach(dir) };
    // Dropped, it would unmount by path once more, and the path may be another's mount by now. Whoever still has
    // a file open loses it when this process ends and the kernel's connection with it.
    std::mem::forget(session);
    away
}

/// The directory to mount at, without links, and its user and group.
pub fn place(dir: &Path) -> io::Result<(PathBuf, u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let path = dir.canonicalize().map_err(|error| of_directory(dir, &error))?;
    let about = path.metadata().map_err(|error| of_directory(&path, &error))?;
    Ok((path, about.uid(), about.gid()))
}

fn options(told: MountOptions) -> fuser::Config {
    let mut options = fuser::Config::default();
    options.mount_options = vec![
        MountOption::FSName("strata-lab".to_owned()),
        MountOption::Subtype(told.kind.to_owned()),
        MountOption::DefaultPermissions,
        MountOption::NoAtime,
    ];
    options.n_threads = Some(told.threads);
    // Root may let others in without a setting in /etc/fuse.conf: servers that run as their users need it.
    options.acl = if told.uid == 0 { SessionACL::All } else { SessionACL::Owner };
    options
}

/// Away from the tree at once, also when somebody holds a file of it.
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
        let why = format!("{}: a process that crashed left its mount; umount -l removes it", dir.display());
        return io::Error::new(io::ErrorKind::NotConnected, why);
    }
    named(error, dir, "cannot use the directory")
}

/// The error with the path and what was tried.
pub fn named(error: &io::Error, path: &Path, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {what}: {error}", path.display()))
}
