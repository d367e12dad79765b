//! Numbers of NFS version 3 and of its MOUNT protocol (RFC 1813).

pub(super) const NFS_PROGRAM: u32 = 100_003;
pub(super) const NFS_VERSION: u32 = 3;
pub(super) const MOUNT_PROGRAM: u32 = 100_005;
pub(super) const MOUNT_VERSION: u32 = 3;

pub(super) const MNT: u32 = 1;
pub(super) const UMNT: u32 = 3;

pub(super) const NULL: u32 = 0;
pub(super) const GETATTR: u32 = 1;
pub(super) const SETATTR: u32 = 2;
pub(super) const LOOKUP: u32 = 3;
pub(super) const READ: u32 = 6;
pub(super) const WRITE: u32 = 7;
pub(super) const CREATE: u32 = 8;
pub(super) const REMOVE: u32 = 12;
pub(super) const FSINFO: u32 = 19;
pub(super) const COMMIT: u32 = 21;

/// Longest file handle, in bytes.
pub(super) const MAX_HANDLE: u32 = 64;
/// Length of a file's attributes, in bytes.
pub(super) const ATTRIBUTES: usize = 84;
/// Length of the attributes before a change, in bytes.
pub(super) const BEFORE: usize = 24;
/// A regular file.
pub(super) const REGULAR: u32 = 1;

/// A write may stay in the server's memory until a COMMIT.
pub(super) const UNSTABLE: u32 = 0;
/// Data and all that leads to them are on the medium when the write is answered.
pub(super) const FILE_SYNC: u32 = 2;

/// The errno that a status of NFS or MOUNT stands for.
pub(super) fn errno_of(status: u32) -> i32 {
    match status {
        // The first ones were errnos from the start.
        1..=34 => status as i32,
        63 => libc::ENAMETOOLONG,
        66 => libc::ENOTEMPTY,
        69 => libc::EDQUOT,
        70 | 10_001 => libc::ESTALE,
        71 => libc::EREMOTE,
        10_004 => libc::EOPNOTSUPP,
        10_005 => libc::EINVAL,
        // The server asks to come back later.
        10_008 => libc::EAGAIN,
        _ => libc::EIO,
    }
}
