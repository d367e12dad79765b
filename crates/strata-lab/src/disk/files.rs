//! The two files, as the kernel asks for them.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use fuser::{Errno, FileAttr, FileHandle, FileType, FopenFlags, INodeNo, ReplyData, ReplyEmpty, ReplyWrite};
use strata_proto::lock::lock;

use super::ctl::Ctl;
use super::queue::Queue;
use super::store::Store;
use crate::about::{answer, attr, errno};
use crate::model::{Model, Op};
use crate::served::Directory;

const DISK: INodeNo = INodeNo(2);
const CTL: INodeNo = INodeNo(3);
const NAMES: [(INodeNo, &str); 2] = [(DISK, "disk"), (CTL, "ctl")];

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
            Self::Data(reply, offset, len) => {
                answer!(reply, store.read(offset, len, buffer), () => reply.data(buffer));
            }
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

fn error(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
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
            answer.give(&self.store, &mut lock(&self.buffer));
        } else {
            self.queue.at(self.began + Duration::from_nanos(done_ns), answer);
        }
    }

    fn read_ctl(&self, fh: FileHandle, offset: u64, size: u32, reply: ReplyData) {
        let mut snapshots = lock(&self.snapshots);
        // One open and its reads see one moment; reading from the start again sees a later one.
        if offset == 0 || !snapshots.contains_key(&fh.0) {
            let now = self.now_ns();
            let text = lock(&self.ctl).text(&mut lock(&self.model), now, &self.store, self.queue.late());
            snapshots.insert(fh.0, text.into_bytes());
        }
        let text = snapshots.get(&fh.0).map_or(&[][..], Vec::as_slice);
        let from = text.len().min(offset as usize);
        let to = text.len().min(from + size as usize);
        reply.data(&text[from..to]);
    }

    fn write_ctl(&self, data: &[u8], reply: ReplyWrite) {
        let mut model = lock(&self.model);
        match lock(&self.ctl).set(&mut model, self.now_ns(), data) {
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

impl Directory for Files {
    fn find(&self, name: &OsStr) -> io::Result<FileAttr> {
        let known = NAMES.iter().find(|(_, its)| name == *its);
        self.attr(known.ok_or_else(|| error(libc::ENOENT))?.0)
    }

    fn attr(&self, ino: INodeNo) -> io::Result<FileAttr> {
        let (kind, perm, size, blocks, nlink) = match ino {
            INodeNo::ROOT => (FileType::Directory, 0o755, 0, 0, 2),
            DISK => (FileType::RegularFile, 0o600, self.store.size_bytes(), self.store.blocks(), 1),
            CTL => (FileType::RegularFile, 0o600, 0, 0, 1),
            _ => return Err(error(libc::ENOENT)),
        };
        let (uid, gid) = self.owner;
        Ok(attr(ino, kind, (perm, nlink, uid, gid), (size, blocks), [self.made; 4]))
    }

    /// `ctl` is truncated by every shell that redirects into it; the disk's size is fixed.
    fn resize(&self, ino: INodeNo, size: u64) -> io::Result<()> {
        if ino == DISK && size != self.store.size_bytes() { Err(error(libc::EPERM)) } else { Ok(()) }
    }

    fn open(&self, ino: INodeNo) -> io::Result<(FileHandle, FopenFlags)> {
        let fh = FileHandle(self.handles.fetch_add(1, Ordering::Relaxed));
        let direct = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH;
        Ok((fh, if ino == DISK { direct | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES } else { direct }))
    }

    fn release(&self, ino: INodeNo, fh: FileHandle) {
        if ino == CTL {
            lock(&self.snapshots).remove(&fh.0);
        }
    }

    fn read(&self, ino: INodeNo, fh: FileHandle, offset: u64, size: u32, reply: ReplyData) {
        if ino != DISK {
            return self.read_ctl(fh, offset, size, reply);
        }
        let len = self.store.within(offset, u64::from(size));
        if len == 0 {
            return reply.data(&[]);
        }
        let now = self.now_ns();
        let served = lock(&self.model).serve(now, Op::Read, offset, len);
        let answer = if served.fails {
            Answer::DataError(reply, Errno::EIO)
        } else {
            Answer::Data(reply, offset, len)
        };
        self.answer(served.done_ns, now, answer);
    }

    fn write(&self, ino: INodeNo, _fh: FileHandle, offset: u64, data: &[u8], reply: ReplyWrite) {
        if ino != DISK {
            return self.write_ctl(data, reply);
        }
        let len = self.store.within(offset, data.len() as u64);
        if len == 0 {
            return reply.error(Errno::ENOSPC);
        }
        let now = self.now_ns();
        let served = lock(&self.model).serve(now, Op::Write, offset, len);
        // The kernel's buffer is gone when this returns, so the bytes are kept now; they are not promised before the
        // answer, and a read that comes earlier may see either content, as on any disk.
        let stored = if served.fails {
            Err(Errno::EIO)
        } else {
            self.store.write(offset, &data[..len as usize]).map_err(|error| errno(&error))
        };
        let answer = match stored {
            Ok(()) => Answer::Written(reply, len as u32),
            Err(error) => Answer::WriteError(reply, error),
        };
        self.answer(served.done_ns, now, answer);
    }

    fn flush(&self, ino: INodeNo, _fh: FileHandle, reply: ReplyEmpty) {
        if ino != DISK {
            return reply.ok();
        }
        let now = self.now_ns();
        let done = lock(&self.model).flush(now);
        self.answer(done, now, Answer::Done(reply));
    }

    fn allocate(&self, ino: INodeNo, _fh: FileHandle, offset: u64, length: u64, mode: i32) -> io::Result<()> {
        // What a loop device makes of a discard, and of zeroes.
        let zeroes = mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) != 0;
        if ino != DISK || !zeroes || mode & libc::FALLOC_FL_KEEP_SIZE == 0 {
            return Err(error(libc::EOPNOTSUPP));
        }
        self.store.punch(offset, length)?;
        lock(&self.model).discard(length);
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<(INodeNo, OsString)>> {
        Ok(NAMES.map(|(ino, name)| (ino, name.into())).into())
    }

    fn room(&self) -> (u64, u64, u64) {
        (self.store.size_bytes() / 4096, 0, 2)
    }
}
