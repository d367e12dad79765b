//! What the kernel is told about a file, by both file systems of a lab.

use std::io;
use std::time::SystemTime;

use fuser::{Errno, FileAttr, FileType, INodeNo};

/// `(perm, nlink, uid, gid)`, `(size, blocks of 512 bytes)` and the times of access, change of content, change of the
/// file and making.
pub fn attr(
    ino: INodeNo,
    kind: FileType,
    (perm, nlink, uid, gid): (u32, u32, u32, u32),
    (size, blocks): (u64, u64),
    [atime, mtime, ctime, crtime]: [SystemTime; 4],
) -> FileAttr {
    let (perm, rdev, blksize, flags) = (perm as u16, 0, 4096, 0);
    FileAttr {
        ino,
        size,
        blocks,
        atime,
        mtime,
        ctime,
        crtime,
        kind,
        perm,
        nlink,
        uid,
        gid,
        rdev,
        blksize,
        flags,
    }
}

/// The system's number of an error, for an answer; an I/O error where it has none.
pub fn errno(error: &io::Error) -> Errno {
    Errno::from_i32(error.raw_os_error().unwrap_or(libc::EIO))
}

/// Answer with what came of a request, or with the number of its error.
macro_rules! answer {
    ($reply:ident, $outcome:expr, $value:pat => $told:expr) => {
        match $outcome {
            Ok($value) => $told,
            Err(error) => $reply.error($crate::about::errno(&error)),
        }
    };
}
pub(crate) use answer;
