//! The directory, as the kernel asks for it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};

use fuser::{FileAttr, FileHandle, FileType, FopenFlags, INodeNo, ReplyData, ReplyEmpty, ReplyWrite};
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use strata_proto::lock::lock;

use super::lower::Lower;
use super::remote::Remote;
use super::service::Part;
use super::source::Source;
use crate::about::{answer, attr};
use crate::served::Directory;

/// Number of the first part; a file below keeps its own, which is smaller.
const PARTS: u64 = 1 << 52;
/// Number of the first file on another node.
const REMOTES: u64 = 1 << 53;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Every file of the directory and those that are open.
pub struct Files {
    below: Option<PathBuf>,
    parts: Vec<Part>,
    owner: (u32, u32),
    names: Mutex<HashMap<u64, OsString>>,
    remotes: Vec<(String, Arc<Source>)>,
    lowers: Mutex<HashMap<u64, Weak<Source>>>,
    open: Mutex<HashMap<u64, Arc<Source>>>,
    handles: AtomicU64,
}

fn absent() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOENT)
}

impl Files {
    /// The regular files of `below`, the parts, and the remote ones by name; the directory belongs to `owner`.
    pub fn new(
        below: Option<PathBuf>,
        parts: Vec<Part>,
        remotes: Vec<(String, Remote)>,
        owner: (u32, u32),
    ) -> Self {
        let remotes = remotes.into_iter().map(|(name, remote)| (name, Arc::new(Source::There(remote))));
        Self {
            remotes: remotes.collect(),
            below,
            parts,
            owner,
            names: Mutex::default(),
            lowers: Mutex::default(),
            open: Mutex::default(),
            handles: AtomicU64::new(1),
        }
    }

    fn part(&self, ino: u64) -> Option<&Part> {
        self.parts.get(usize::try_from(ino.checked_sub(PARTS)?).ok()?)
    }

    fn remote(&self, ino: u64) -> Option<&Arc<Source>> {
        Some(&self.remotes.get(usize::try_from(ino.checked_sub(REMOTES)?).ok()?)?.1)
    }

    fn path_of(&self, name: &OsStr) -> io::Result<PathBuf> {
        Ok(self.below.as_ref().ok_or_else(absent)?.join(name))
    }

    fn path(&self, ino: u64) -> io::Result<PathBuf> {
        match self.part(ino) {
            Some(part) => Ok(part.path.clone()),
            None => self.path_of(lock(&self.names).get(&ino).ok_or_else(absent)?),
        }
    }

    fn attr_of(&self, ino: INodeNo, about: &Metadata) -> FileAttr {
        let at = |s: i64, ns: i64| SystemTime::UNIX_EPOCH + Duration::new(s.max(0) as u64, ns as u32);
        let modified = at(about.mtime(), about.mtime_nsec());
        let changed = at(about.ctime(), about.ctime_nsec());
        let times = [at(about.atime(), about.atime_nsec()), modified, changed, modified];
        let whose = (about.mode() & 0o777, 1, about.uid(), about.gid());
        match self.part(ino.0) {
            Some(part) => attr(ino, FileType::RegularFile, whose, (part.size, part.size / 512), times),
            None => attr(ino, FileType::RegularFile, whose, (about.len(), about.blocks()), times),
        }
    }

    /// One for each file, however often it is open: writes that share a block have to know each other.
    fn lower(&self, ino: u64) -> io::Result<Arc<Source>> {
        if let Some(remote) = self.remote(ino) {
            return Ok(Arc::clone(remote));
        }
        let mut lowers = lock(&self.lowers);
        if let Some(lower) = lowers.get(&ino).and_then(Weak::upgrade) {
            return Ok(lower);
        }
        let part = self.part(ino).map(|part| (part.offset, part.size));
        let lower = Arc::new(Source::Here(Lower::open(&self.path(ino)?, part)?));
        lowers.insert(ino, Arc::downgrade(&lower));
        Ok(lower)
    }

    fn opened(&self, ino: u64) -> io::Result<FileHandle> {
        let lower = self.lower(ino)?;
        let fh = self.handles.fetch_add(1, Ordering::Relaxed);
        lock(&self.open).insert(fh, lower);
        Ok(FileHandle(fh))
    }

    fn handle(&self, fh: FileHandle) -> io::Result<Arc<Source>> {
        lock(&self.open).get(&fh.0).cloned().ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))
    }
}

impl Directory for Files {
    fn find(&self, name: &OsStr) -> io::Result<FileAttr> {
        if let Some(i) = self.parts.iter().position(|part| OsStr::new(&part.name) == name) {
            return self.attr(INodeNo(PARTS + i as u64));
        }
        if let Some(i) = self.remotes.iter().position(|(its, _)| OsStr::new(its) == name) {
            return self.attr(INodeNo(REMOTES + i as u64));
        }
        let about = fs::symlink_metadata(self.path_of(name)?)?;
        if !about.is_file() {
            return Err(absent());
        }
        lock(&self.names).insert(about.ino(), name.to_owned());
        Ok(self.attr_of(INodeNo(about.ino()), &about))
    }

    fn attr(&self, ino: INodeNo) -> io::Result<FileAttr> {
        if ino == INodeNo::ROOT {
            let (uid, gid) = self.owner;
            let made = SystemTime::UNIX_EPOCH;
            let times = [made; 4];
            return Ok(attr(ino, FileType::Directory, (0o755, 2, uid, gid), (0, 0), times));
        }
        if let Some(Source::There(remote)) = self.remote(ino.0).map(Arc::as_ref) {
            let (size, (uid, gid)) = (remote.size_bytes(), self.owner);
            let times = [SystemTime::UNIX_EPOCH; 4];
            return Ok(attr(ino, FileType::RegularFile, (0o600, 1, uid, gid), (size, size / 512), times));
        }
        let about = fs::symlink_metadata(self.path(ino.0)?)?;
        Ok(self.attr_of(ino, &about))
    }

    fn resize(&self, ino: INodeNo, size: u64) -> io::Result<()> {
        self.lower(ino.0)?.whole()?.set_len(size)
    }

    fn open(&self, ino: INodeNo) -> io::Result<(FileHandle, FopenFlags)> {
        let direct = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH;
        Ok((self.opened(ino.0)?, direct | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES))
    }

    fn release(&self, _ino: INodeNo, fh: FileHandle) {
        lock(&self.open).remove(&fh.0);
    }

    fn create(&self, name: &OsStr, mode: u32) -> io::Result<(FileAttr, FileHandle, FopenFlags)> {
        let path = self.path_of(name)?;
        OpenOptions::new().write(true).create_new(true).mode(mode & 0o777).open(path)?;
        let attr = self.find(name)?;
        let (fh, flags) = self.open(attr.ino)?;
        Ok((attr, fh, flags))
    }

    fn unlink(&self, name: &OsStr) -> io::Result<()> {
        self.path_of(name).and_then(fs::remove_file)
    }

    fn read(&self, _ino: INodeNo, fh: FileHandle, offset: u64, len: u32, reply: ReplyData) {
        BUFFER.with_borrow_mut(|buffer| {
            let lower = self.handle(fh);
            let read = lower.and_then(|lower| lower.read(offset, u64::from(len), buffer));
            answer!(reply, read, bytes => reply.data(bytes));
        });
    }

    fn write(&self, _ino: INodeNo, fh: FileHandle, offset: u64, data: &[u8], reply: ReplyWrite) {
        let written = BUFFER.with_borrow_mut(|buffer| self.handle(fh)?.write(offset, data, buffer));
        answer!(reply, written, () => reply.written(data.len() as u32))
    }

    fn flush(&self, _ino: INodeNo, fh: FileHandle, reply: ReplyEmpty) {
        answer!(reply, self.handle(fh).and_then(|lower| lower.flush()), () => reply.ok())
    }

    fn allocate(&self, _ino: INodeNo, fh: FileHandle, offset: u64, length: u64, mode: i32) -> io::Result<()> {
        let mode = FallocateFlags::from_bits_retain(mode as u32);
        Ok(fallocate(self.handle(fh)?.whole()?, mode, offset, length)?)
    }

    fn list(&self) -> io::Result<Vec<(INodeNo, OsString)>> {
        let mut all = Vec::new();
        for (i, part) in self.parts.iter().enumerate() {
            all.push((INodeNo(PARTS + i as u64), part.name.clone().into()));
        }
        for entry in
            self.below.iter().map(fs::read_dir).collect::<io::Result<Vec<_>>>()?.into_iter().flatten()
        {
            let about = entry.as_ref().map(fs::DirEntry::metadata);
            if let (Ok(entry), Ok(Ok(about))) = (&entry, about)
                && about.is_file()
            {
                all.push((INodeNo(about.ino()), entry.file_name()));
            }
        }
        Ok(all)
    }

    fn room(&self) -> (u64, u64, u64) {
        let about = self.below.as_ref().and_then(|below| statvfs(below).ok());
        about.map_or((0, 0, 0), |s| {
            let (unit, kib4) = (s.f_frsize, 4096);
            (s.f_blocks * unit / kib4, s.f_bavail * unit / kib4, 0)
        })
    }
}
