//! What a server's refusals mean here: an errno, and what to do next.

use std::io;

use smb2::types::status::NtStatus;
use strata_proto::named_as;

/// Codes that `smb2` has no name for.
const QUOTA_EXCEEDED: u32 = 0xC000_0044;
const PRIVILEGE_NOT_HELD: u32 = 0xC000_0061;
const MEDIA_WRITE_PROTECTED: u32 = 0xC000_00A2;
const IO_TIMEOUT: u32 = 0xC000_00B5;
const IO_DEVICE_ERROR: u32 = 0xC000_0185;

/// The errno nearest in meaning.
pub(crate) fn errno_of(status: NtStatus) -> i32 {
    match status {
        NtStatus::LOGON_FAILURE
        | NtStatus::ACCESS_DENIED
        | NtStatus::ACCOUNT_RESTRICTION
        | NtStatus::ACCOUNT_DISABLED
        | NtStatus::ACCOUNT_EXPIRED
        | NtStatus::ACCOUNT_LOCKED_OUT
        | NtStatus::PASSWORD_EXPIRED
        | NtStatus::PASSWORD_MUST_CHANGE
        | NtStatus::INVALID_LOGON_HOURS
        | NtStatus::INVALID_WORKSTATION => libc::EACCES,
        NtStatus::BAD_NETWORK_NAME => libc::ENXIO,
        NtStatus::BAD_NETWORK_PATH
        | NtStatus::OBJECT_NAME_NOT_FOUND
        | NtStatus::OBJECT_PATH_NOT_FOUND
        | NtStatus::NO_SUCH_FILE
        | NtStatus::NOT_FOUND => libc::ENOENT,
        NtStatus::OBJECT_NAME_COLLISION => libc::EEXIST,
        NtStatus::OBJECT_NAME_INVALID | NtStatus::INVALID_PARAMETER => libc::EINVAL,
        NtStatus::SHARING_VIOLATION | NtStatus::FILE_LOCK_CONFLICT | NtStatus::DELETE_PENDING => libc::EBUSY,
        NtStatus::DISK_FULL => libc::ENOSPC,
        NtStatus::FILE_IS_A_DIRECTORY => libc::EISDIR,
        NtStatus::NOT_A_DIRECTORY => libc::ENOTDIR,
        NtStatus::NOT_SUPPORTED | NtStatus::NOT_IMPLEMENTED | NtStatus::INVALID_DEVICE_REQUEST => {
            libc::EOPNOTSUPP
        }
        NtStatus::INSUFFICIENT_RESOURCES | NtStatus::INSUFF_SERVER_RESOURCES => libc::ENOMEM,
        NtStatus::CANCELLED => libc::ECANCELED,
        NtStatus::CANNOT_DELETE => libc::EPERM,
        NtStatus(QUOTA_EXCEEDED) => libc::EDQUOT,
        NtStatus(PRIVILEGE_NOT_HELD) => libc::EPERM,
        NtStatus(MEDIA_WRITE_PROTECTED) => libc::EROFS,
        NtStatus(IO_TIMEOUT) => libc::ETIMEDOUT,
        NtStatus(IO_DEVICE_ERROR) => libc::EIO,
        status if ends_the_session(status) => libc::ENOTCONN,
        _ => libc::EIO,
    }
}

/// Whether nothing that is asked through this open will be answered well any more.
pub(crate) fn ends_the_session(status: NtStatus) -> bool {
    matches!(
        status,
        NtStatus::USER_SESSION_DELETED
            | NtStatus::NETWORK_SESSION_EXPIRED
            | NtStatus::NETWORK_NAME_DELETED
            | NtStatus::FILE_CLOSED
    )
}

/// The next step, where there is one to name.
fn advice(status: NtStatus) -> &'static str {
    match status {
        NtStatus::LOGON_FAILURE => {
            "check user and password (smb://user@host/…, STRATA_SMB_PASSWORD or ?credentials=FILE)"
        }
        NtStatus::ACCOUNT_DISABLED | NtStatus::ACCOUNT_EXPIRED | NtStatus::ACCOUNT_LOCKED_OUT => {
            "the account is disabled; have it enabled or log on as another user"
        }
        NtStatus::PASSWORD_EXPIRED | NtStatus::PASSWORD_MUST_CHANGE => {
            "set a new password on the server first"
        }
        NtStatus::BAD_NETWORK_NAME => "the server has no such share; smbclient -L HOST lists its shares",
        NtStatus::ACCESS_DENIED => {
            "this user has no permission for that; check the rights of the share and of the file"
        }
        NtStatus::OBJECT_NAME_NOT_FOUND | NtStatus::NO_SUCH_FILE => "there is no such file on the share",
        NtStatus::OBJECT_PATH_NOT_FOUND => "its directory does not exist on the share; create it first",
        NtStatus::SHARING_VIOLATION => "another client has the file open; close it there",
        NtStatus::DISK_FULL => "free some space there, or use a smaller --size",
        NtStatus::STOPPED_ON_SYMLINK => "it is a symbolic link; give the file it links to",
        NtStatus::FILE_IS_A_DIRECTORY => "it is a directory; give a file below it",
        _ => "",
    }
}

/// `what` was refused with `status`, with the next step.
pub(crate) fn refused(what: impl std::fmt::Display, status: NtStatus) -> io::Error {
    let advice = advice(status);
    let colon = if advice.is_empty() { "" } else { ": " };
    named_as(format_args!("{what}: {status}{colon}{advice}"), errno_of(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_status_and_the_next_step() {
        let error = refused("smb://nas/data/x: logging on as ann", NtStatus::LOGON_FAILURE);
        let said = error.to_string();
        assert!(said.starts_with("smb://nas/data/x: logging on as ann: STATUS_LOGON_FAILURE: check user"));
        assert_eq!(strata_proto::errno(&error), libc::EACCES);
        assert_eq!(refused("x", NtStatus(0xC0DE_0001)).to_string(), "x: 0xC0DE0001");
    }

    #[test]
    fn a_lost_session_is_a_lost_connection() {
        assert_eq!(errno_of(NtStatus::USER_SESSION_DELETED), libc::ENOTCONN);
        assert!(!ends_the_session(NtStatus::DISK_FULL));
    }
}
