//! The two files, as the kernel asks for them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use super::ctl::Ctl;
use super::queue::Queue;
use super::store::Store;
use crate::about::{attr, errno};
use crate::model::{Model, Op};

const DISK: INodeNo = INodeNo(2);
const CTL: INodeNo = INodeNo(3);
const NAMES: [(INodeNo, &str); 2] = [(DISK, "disk"), (CTL, "ctl")];
/// Nothing about the files changes but the blocks they hold.
const TTL: Duration = Duration::from_secs(1);
/// Requests of asynchronous direct I/O that the kernel hands over before it holds back further ones.
const BACKGROUND: u16 = 4096;

/// An answer that waits for its time.
pub enum Answer {
    /// A read; its bytes are fetched when it is due.
    Data(ReplyData, u64, u64),
    /// A write of so many bytes.
    Written(ReplyWrite, u32),
    /// A flush.
    Done(ReplyEmpty),
    /// A read that fails.
    DataError(ReplyData, Errno),
    /// A write that fails.
    WriteError(ReplyWrite, Errno),
}

impl Answer {
    /// Send it.
    pub fn give(self, store: &Store, buffer: &mut Vec<u8>) {
        match self {
            Self::Data(reply, offset, len) => match store.read(offset, len, buffer) {
                Ok(()) => reply.data(buffer),
                Err(error) => reply.error(errno(&error)),
            },
            Self::Written(reply, len) => reply.written(len),
            Self::Done(reply) => reply.ok(),
            Self::DataError(reply, error) => reply.error(error),
            Self::WriteError(reply, error) => reply.error(error),
        }
    }
}

/// What an answer needs of the disk, also in the thread that gives it.
pub struct Files {
    store: Arc<Store>,
    model: Mutex<Model>,
    queue: Queue<Answer>,
    began: Instant,
    buffer: Mutex<Vec<u8>>,
    ctl: Mutex<Ctl>,
    snapshots: Mutex<HashMap<u64, Vec<u8>>>,
    handles: AtomicU64,
    owner: (u32, u32),
    made: SystemTime,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    /// The files of a disk whose model begins at time 0 now; `owner` is the user and group they belong to.
    pub fn new(store: Store, model: Model, owner: (u32, u32)) -> io::Result<Self> {
        let store = Arc::new(store);
        let its = Arc::clone(&store);
        let mut buffer = Vec::new();
        let queue = Queue::start(move |answer: Answer| answer.give(&its, &mut buffer))?;
        Ok(Self {
            store,
            model: Mutex::new(model),
            queue,
            began: Instant::now(),
            buffer: Mutex::default(),
            ctl: Mutex::default(),
            snapshots: Mutex::default(),
            handles: AtomicU64::new(1),
            owner,
            made: SystemTime::now(),
        })
    }

    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// At once if it is due, else at its time in the other thread.
    fn answer(&self, done_ns: u64, now_ns: u64, answer: Answer) {
        if done_ns <= now_ns {
            answer.give(&self.store, &mut locked(&self.buffer));
        } else {
            self.queue.at(self.began + Duration::from_nanos(done_ns), answer);
        }
    }

    fn attr(&self, ino: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size, blocks, nlink) = match ino {
            INodeNo::ROOT => (FileType::Directory, 0o755, 0, 0, 2),
            DISK => (FileType::RegularFile, 0o600, self.store.size_bytes(), self.store.blocks(), 1),
            CTL => (FileType::RegularFile, 0o600, 0, 0, 1),
            _ => return None,
        };
        let (uid, gid) = self.owner;
        Some(attr(ino, kind, (perm, nlink, uid, gid), (size, blocks), [self.made; 4]))
    }

    fn read_ctl(&self, fh: FileHandle, offset: u64, size: u32, reply: ReplyData) {
        let mut snapshots = locked(&self.snapshots);
        // One open and its reads see one moment; reading from the start again sees a later one.
        if offset == 0 || !snapshots.contains_key(&fh.0) {
            let now = self.now_ns();
            let text = locked(&self.ctl).text(&mut locked(&self.model), now, &self.store, self.queue.late());
            snapshots.insert(fh.0, text.into_bytes());
        }
        let text = snapshots.get(&fh.0).map_or(&[][..], Vec::as_slice);
        let from = text.len().min(offset as usize);
        let to = text.len().min(from + size as usize);
        reply.data(&text[from..to]);
    }

    fn write_ctl(&self, data: &[u8], reply: ReplyWrite) {
        let mut model = locked(&self.model);
        match locked(&self.ctl).set(&mut model, self.now_ns(), data) {
            Ok(reset) => {
                if reset {
                    self.queue.reset();
                }
                reply.written(data.len() as u32);
            }
            Err(()) => reply.error(Errno::EINVAL),
        }
    }
}

impl Filesystem for Files {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without it the kernel sends asynchronous direct I/O one by one, and no depth would arrive here.
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| io::Error::other("this kernel's FUSE has no asynchronous direct I/O"))?;
        let _former = config.set_max_background(BACKGROUND);
        let _former = config.set_congestion_threshold(BACKGROUND);
        let _former = config.set_max_write(1 << 20);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let known = NAMES.iter().find(|(_, its)| parent == INodeNo::ROOT && name == *its);
        match known.and_then(|&(ino, _)| self.attr(ino)) {
            Some(attr) => reply.entry(&TTL, &attr, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.attr(ino) {
            Some(attr) => reply.attr(&TTL, &attr),
            None => reply.error(Errno::ENOENT),
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
        // `ctl` is truncated by every shell that redirects into it; the disk's size is fixed.
        let refused = ino == DISK && size.is_some_and(|size| size != self.store.size_bytes());
        match self.attr(ino) {
            Some(attr) if !refused => reply.attr(&TTL, &attr),
            _ => reply.error(Errno::EPERM),
        }
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let fh = FileHandle(self.handles.fetch_add(1, Ordering::Relaxed));
        let direct = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH;
        match ino {
            DISK => reply.opened(fh, direct | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES),
            _ => reply.opened(fh, direct),
        }
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
        if ino == CTL {
            locked(&self.snapshots).remove(&fh.0);
        }
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
        if ino != DISK {
            return self.read_ctl(fh, offset, size, reply);
        }
        let len = self.store.within(offset, u64::from(size));
        if len == 0 {
            return reply.data(&[]);
        }
        let now = self.now_ns();
        let served = locked(&self.model).serve(now, Op::Read, offset, len);
        let answer = if served.fails {
            Answer::DataError(reply, Errno::EIO)
        } else {
            Answer::Data(reply, offset, len)
        };
        self.answer(served.done_ns, now, answer);
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if ino != DISK {
            return self.write_ctl(data, reply);
        }
        let len = self.store.within(offset, data.len() as u64);
        if len == 0 {
            return reply.error(Errno::ENOSPC);
        }
        let now = self.now_ns();
        let served = locked(&self.model).serve(now, Op::Write, offset, len);
        // The kernel's buffer is gone when this returns, so the bytes are kept now; they are not promised before the
        // answer, and a read that comes earlier may see either content, as on any disk.
        let stored =
            if served.fails { Err(Errno::EIO) } else { self.store_bytes(offset, &data[..len as usize]) };
        let answer = match stored {
            Ok(()) => Answer::Written(reply, len as u32),
            Err(error) => Answer::WriteError(reply, error),
        };
        self.answer(served.done_ns, now, answer);
    }

    fn fsync(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        if ino != DISK {
            return reply.ok();
        }
        let now = self.now_ns();
        let done = locked(&self.model).flush(now);
        self.answer(done, now, Answer::Done(reply));
    }

    fn fallocate(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        // What a loop device makes of a discard, and of zeroes.
        let zeroes = mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) != 0;
        if ino != DISK || !zeroes || mode & libc::FALLOC_FL_KEEP_SIZE == 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        match self.store.punch(offset, length) {
            Ok(()) => {
                locked(&self.model).discard(length);
                reply.ok();
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn readdir(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let root = INodeNo::ROOT;
        if ino != root {
            return reply.error(Errno::ENOTDIR);
        }
        let own = [(root, FileType::Directory, "."), (root, FileType::Directory, "..")];
        let files = NAMES.map(|(ino, name)| (ino, FileType::RegularFile, name));
        for (i, (ino, kind, name)) in own.into_iter().chain(files).enumerate().skip(offset as usize) {
            if reply.add(ino, i as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        reply.statfs(self.store.size_bytes() / 4096, 0, 0, 2, 0, 4096, 255, 4096);
    }
}

impl Files {
    fn store_bytes(&self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.store.write(offset, bytes).map_err(|error| errno(&error))
    }
}
