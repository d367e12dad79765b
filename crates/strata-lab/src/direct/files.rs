//! The directory, as the kernel asks for it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{FallocateFlags, fallocate, statvfs};

use super::lower::Lower;
use super::remote::Remote;
use super::service::Part;
use super::source::Source;
use crate::about::{attr, errno};

/// Nobody else makes files below.
const TTL: Duration = Duration::from_secs(1);
/// Number of the first part; a file below keeps its own, which is smaller.
const PARTS: u64 = 1 << 52;
/// Number of the first file on another node.
const REMOTES: u64 = 1 << 53;
const LARGEST: u32 = 1 << 20;
const BACKGROUND: u16 = 4096;

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

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn flags() -> FopenFlags {
    FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
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
            None => self.path_of(locked(&self.names).get(&ino).ok_or_else(absent)?),
        }
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
        locked(&self.names).insert(about.ino(), name.to_owned());
        Ok(self.attr_of(INodeNo(about.ino()), &about))
    }

    /// One for each file, however often it is open: writes that share a block have to know each other.
    fn lower(&self, ino: u64) -> io::Result<Arc<Source>> {
        if let Some(remote) = self.remote(ino) {
            return Ok(Arc::clone(remote));
        }
        let mut lowers = locked(&self.lowers);
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
        locked(&self.open).insert(fh, lower);
        Ok(FileHandle(fh))
    }

    fn handle(&self, fh: FileHandle) -> io::Result<Arc<Source>> {
        locked(&self.open).get(&fh.0).cloned().ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))
    }

    fn made(&self, name: &OsStr, mode: u32) -> io::Result<(FileAttr, FileHandle)> {
        let path = self.path_of(name)?;
        OpenOptions::new().write(true).create_new(true).mode(mode & 0o777).open(path)?;
        let attr = self.find(name)?;
        Ok((attr, self.opened(attr.ino.0)?))
    }

    fn resized(&self, ino: INodeNo, size: u64) -> io::Result<()> {
        self.lower(ino.0)?.whole()?.set_len(size)
    }

    fn listed(&self) -> io::Result<Vec<(INodeNo, FileType, OsString)>> {
        let own = [
            (INodeNo::ROOT, FileType::Directory, ".".into()),
            (INodeNo::ROOT, FileType::Directory, "..".into()),
        ];
        let mut all: Vec<_> = own.into();
        for (i, part) in self.parts.iter().enumerate() {
            all.push((INodeNo(PARTS + i as u64), FileType::RegularFile, part.name.clone().into()));
        }
        for entry in
            self.below.iter().map(fs::read_dir).collect::<io::Result<Vec<_>>>()?.into_iter().flatten()
        {
            let about = entry.as_ref().map(fs::DirEntry::metadata);
            if let (Ok(entry), Ok(Ok(about))) = (&entry, about)
                && about.is_file()
            {
                all.push((INodeNo(about.ino()), FileType::RegularFile, entry.file_name()));
            }
        }
        Ok(all)
    }
}

impl Filesystem for Files {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| io::Error::other("this kernel's FUSE has no asynchronous direct I/O"))?;
        let _former = config.set_max_background(BACKGROUND);
        let _former = config.set_congestion_threshold(BACKGROUND);
        let _former = config.set_max_write(LARGEST);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = if parent == INodeNo::ROOT { self.find(name) } else { Err(absent()) };
        match found {
            Ok(attr) => reply.entry(&TTL, &attr, Generation(0)),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.attr(ino) {
            Ok(attr) => reply.attr(&TTL, &attr),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        // Rights and times stay those of the file below.
        let done = size.map_or(Ok(()), |size| self.resized(ino, size)).and_then(|()| self.attr(ino));
        match done {
            Ok(attr) => reply.attr(&TTL, &attr),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.opened(ino.0) {
            Ok(fh) => reply.opened(fh, flags()),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn create(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let made = if parent == INodeNo::ROOT { self.made(name, mode & !umask) } else { Err(absent()) };
        match made {
            Ok((attr, fh)) => reply.created(&TTL, &attr, Generation(0), fh, flags()),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn unlink(&self, _req: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match self.path_of(name).and_then(fs::remove_file) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn release(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        locked(&self.open).remove(&fh.0);
        reply.ok();
    }

    fn read(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        BUFFER.with_borrow_mut(|buffer| {
            let lower = match self.handle(fh) {
                Ok(lower) => lower,
                Err(error) => return reply.error(errno(&error)),
            };
            match lower.read(offset, u64::from(size), buffer) {
                Ok(bytes) => reply.data(bytes),
                Err(error) => reply.error(errno(&error)),
            }
        });
    }

    fn write(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let written = BUFFER.with_borrow_mut(|buffer| self.handle(fh)?.write(offset, data, buffer));
        match written {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn fsync(&self, _req: &Request, _ino: INodeNo, fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        match self.handle(fh).and_then(|lower| lower.flush()) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn fallocate(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let mode = FallocateFlags::from_bits_retain(mode as u32);
        let done = self.handle(fh).and_then(|lower| Ok(fallocate(lower.whole()?, mode, offset, length)?));
        match done {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn readdir(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if ino != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let all = match self.listed() {
            Ok(all) => all,
            Err(error) => return reply.error(errno(&error)),
        };
        for (i, (ino, kind, name)) in all.into_iter().enumerate().skip(offset as usize) {
            if reply.add(ino, i as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        let about = self.below.as_ref().and_then(|below| statvfs(below).ok());
        let (blocks, free) = about.map_or((0, 0), |s| {
            let (unit, kib4) = (s.f_frsize, 4096);
            (s.f_blocks * unit / kib4, s.f_bavail * unit / kib4)
        });
        reply.statfs(blocks, free, free, 0, 0, 4096, 255, 4096);
    }
}
