//! A directory of files that have no others below them, as the kernel asks for it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::about::{answer, errno};

/// Nothing about the files changes but what is changed through the directory.
const TTL: Duration = Duration::from_secs(1);
/// Longest write, in bytes.
const LARGEST: u32 = 1 << 20;
/// Requests of asynchronous direct I/O that the kernel hands over before it holds back further ones.
const BACKGROUND: u16 = 4096;

/// What a directory answers. Reads, writes and flushes may be answered later, by another thread.
pub trait Directory: Send + Sync + 'static {
    /// The file of this name.
    fn find(&self, name: &OsStr) -> io::Result<FileAttr>;
    /// What a file, or the directory itself, is.
    fn attr(&self, ino: INodeNo) -> io::Result<FileAttr>;
    /// Make a file so long.
    fn resize(&self, ino: INodeNo, size: u64) -> io::Result<()>;
    /// Open a file.
    fn open(&self, ino: INodeNo) -> io::Result<(FileHandle, FopenFlags)>;
    /// It is closed.
    fn release(&self, ino: INodeNo, fh: FileHandle);
    /// Make a file and open it.
    fn create(&self, _name: &OsStr, _mode: u32) -> io::Result<(FileAttr, FileHandle, FopenFlags)> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }
    /// Remove a file.
    fn unlink(&self, _name: &OsStr) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }
    /// Read up to `len` bytes.
    fn read(&self, ino: INodeNo, fh: FileHandle, offset: u64, len: u32, reply: ReplyData);
    /// Write.
    fn write(&self, ino: INodeNo, fh: FileHandle, offset: u64, data: &[u8], reply: ReplyWrite);
    /// Write out what was written.
    fn flush(&self, ino: INodeNo, fh: FileHandle, reply: ReplyEmpty);
    /// As `fallocate`.
    fn allocate(&self, ino: INodeNo, fh: FileHandle, offset: u64, length: u64, mode: i32) -> io::Result<()>;
    /// All files.
    fn list(&self) -> io::Result<Vec<(INodeNo, OsString)>>;
    /// Blocks of 4096 bytes, those that are free, and the number of files.
    fn room(&self) -> (u64, u64, u64);
}

/// A directory that is served.
#[derive(Debug)]
pub struct Served<D>(pub D);

impl<D: Directory> Filesystem for Served<D> {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without it the kernel sends asynchronous direct I/O one by one, and no depth would arrive here.
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| io::Error::other("this kernel's FUSE has no asynchronous direct I/O"))?;
        let _former = config.set_max_background(BACKGROUND);
        let _former = config.set_congestion_threshold(BACKGROUND);
        let _former = config.set_max_write(LARGEST);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent != INodeNo::ROOT {
            return reply.error(Errno::ENOENT);
        }
        answer!(reply, self.0.find(name), attr => reply.entry(&TTL, &attr, Generation(0)))
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        answer!(reply, self.0.attr(ino), attr => reply.attr(&TTL, &attr))
    }

    /// Rights and times stay what they are.
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
        answer!(reply, size.map_or(Ok(()), |size| self.0.resize(ino, size)).and_then(|()| self.0.attr(ino)), attr => reply.attr(&TTL, &attr))
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        answer!(reply, self.0.open(ino), (fh, flags) => reply.opened(fh, flags))
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
        if parent != INodeNo::ROOT {
            return reply.error(Errno::ENOENT);
        }
        answer!(reply, self.0.create(name, mode & !umask), (attr, fh, flags) => reply.created(&TTL, &attr, Generation(0), fh, flags))
    }

    fn unlink(&self, _req: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer!(reply, self.0.unlink(name), () => reply.ok())
    }

    fn release(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.0.release(ino, fh);
        reply.ok();
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.0.read(ino, fh, offset, size, reply);
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.0.write(ino, fh, offset, data, reply);
    }

    fn fsync(&self, _req: &Request, ino: INodeNo, fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        self.0.flush(ino, fh, reply);
    }

    fn fallocate(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        answer!(reply, self.0.allocate(ino, fh, offset, length, mode), () => reply.ok())
    }

    fn readdir(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if ino != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let files = match self.0.list() {
            Ok(files) => files,
            Err(error) => return reply.error(errno(&error)),
        };
        let own = [".", ".."].map(|name| (INodeNo::ROOT, FileType::Directory, name.into()));
        let files = files.into_iter().map(|(ino, name)| (ino, FileType::RegularFile, name));
        for (i, (ino, kind, name)) in own.into_iter().chain(files).enumerate().skip(offset as usize) {
            if reply.add(ino, i as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        let (blocks, free, files) = self.0.room();
        reply.statfs(blocks, free, free, files, 0, 4096, 255, 4096);
    }
}
