//! Opening a target exactly as asked, verified, never created and never truncated.

use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::fcntl_getfl;

use crate::align::DioAlign;
use crate::error::{Error, Result};
use crate::sys;

/// What the path must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A block device.
    Block,
}

/// How to open a target.
#[derive(Clone, Copy, Debug)]
pub struct OpenSpec<'a> {
    /// Where, and what errors call it.
    pub path: &'a Path,
    /// A descriptor of it that the caller holds open: what is opened is its file, wherever the name leads by now.
    pub fd: Option<RawFd>,
    /// What it must be.
    pub kind: Kind,
    /// Past the page cache (O_DIRECT).
    pub direct: bool,
    /// Each write reaches the medium before it completes (O_DSYNC).
    pub dsync: bool,
    /// Open for reading and writing; otherwise for reading only.
    pub write: bool,
}

/// An open target.
#[derive(Debug)]
pub struct Target {
    /// The open file or device.
    pub file: File,
    /// Bytes that can be addressed.
    pub size_bytes: u64,
    /// What direct I/O demands, whether or not it was asked for.
    pub align: DioAlign,
    /// O_DIRECT is in force (read back, not assumed).
    pub direct: bool,
    /// O_DSYNC is in force (read back).
    pub dsync: bool,
}

/// What to open for a file of this name: beside `fd`, where the caller holds it open, else by the name.
///
/// Between a check and an opening by name another file may take the name; a descriptor stays what was checked.
#[must_use]
pub fn beside(path: &Path, fd: Option<RawFd>) -> PathBuf {
    fd.map_or_else(|| path.to_path_buf(), |fd| format!("/proc/self/fd/{fd}").into())
}

/// Open as `spec` says.
///
/// # Errors
/// The system's own; `EINVAL` with the reason when direct I/O is not possible; `EINVAL` when the path is of
/// another kind.
pub fn open(spec: &OpenSpec<'_>) -> Result<Target> {
    let path = spec.path;
    let at = beside(path, spec.fd);
    let fail = |what: &str| {
        let what = what.to_owned();
        move |source: io::Error| Error::new(what, path, source)
    };
    // Asked before opening as well as after: opening a FIFO would block. (O_NONBLOCK is no way out: io_uring
    // would then answer EAGAIN instead of waiting for the device.)
    of_kind(spec, std::fs::metadata(&at).map_err(fail("cannot stat"))?.file_type())?;
    let mut flags = libc::O_CLOEXEC | libc::O_NOCTTY;
    flags |= if spec.direct { libc::O_DIRECT } else { 0 };
    flags |= if spec.dsync { libc::O_DSYNC } else { 0 };
    let opened = OpenOptions::new().read(true).write(spec.write).custom_flags(flags).open(&at);
    let file = match opened {
        Err(e) if spec.direct && e.raw_os_error() == Some(libc::EINVAL) => {
            let what = "cannot open with O_DIRECT: the file system does not support direct I/O; \
                        measure through the page cache (direct = false) or choose another path";
            return Err(Error::new(what, path, e));
        }
        other => other.map_err(fail("cannot open"))?,
    };
    let metadata = file.metadata().map_err(fail("cannot stat"))?;
    of_kind(spec, metadata.file_type())?;
    let size_bytes = match spec.kind {
        Kind::File => metadata.len(),
        Kind::Block => sys::device_bytes(&file).map_err(fail("cannot ask the size of"))?,
    };
    let in_effect = fcntl_getfl(&file).map_err(|e| fail("cannot read back the open flags of")(e.into()))?;
    let has = |flag: libc::c_int| in_effect.bits() as libc::c_int & flag == flag;
    let align = DioAlign::of(&file).map_err(fail("cannot ask the alignment of"))?;
    if spec.direct && !(has(libc::O_DIRECT) && align.supported) {
        let what = "O_DIRECT was requested but is not in effect: the file system does not support direct I/O here; \
                    measure through the page cache (direct = false) or choose another path";
        return Err(Error::refused(what, path, libc::EINVAL));
    }
    if spec.dsync && !has(libc::O_DSYNC) {
        return Err(Error::refused("O_DSYNC was requested but is not in effect", path, libc::EINVAL));
    }
    Ok(Target { file, size_bytes, align, direct: has(libc::O_DIRECT), dsync: has(libc::O_DSYNC) })
}

fn of_kind(spec: &OpenSpec<'_>, found: FileType) -> Result<()> {
    match spec.kind {
        Kind::File if !found.is_file() => Err(Error::refused("not a regular file", spec.path, libc::EINVAL)),
        Kind::Block if !found.is_block_device() => {
            Err(Error::refused("not a block device", spec.path, libc::ENOTBLK))
        }
        _ => Ok(()),
    }
}
