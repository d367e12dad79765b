//! The head of a call.

use super::LAST;
use super::xdr::Xdr;

/// Length of a record mark, in bytes.
pub(crate) const MARK_LEN: usize = 4;

const CALL: u32 = 0;
const RPC_VERSION: u32 = 2;
const AUTH_NONE: u32 = 0;
const AUTH_UNIX: u32 = 1;

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cred {
    pub uid: u32,
    pub gid: u32,
}

/// A whole call as one record: mark, head, `args`.
///
/// Bytes 0 to 4 are the mark, 4 to 8 the XID, 24 to 28 the procedure; the length of the rest depends on nothing but
/// `args`.
pub(crate) fn call(xid: u32, cred: Cred, program: u32, version: u32, procedure: u32, args: &[u8]) -> Vec<u8> {
    let body = Xdr::default().u32(0).opaque(b"strata").u32(cred.uid).u32(cred.gid).u32(0);
    let mut message = Xdr::default()
        .u32(0)
        .u32(xid)
        .u32(CALL)
        .u32(RPC_VERSION)
        .u32(program)
        .u32(version)
        .u32(procedure)
        .u32(AUTH_UNIX)
        .opaque(&body.0)
        .u32(AUTH_NONE)
        .u32(0)
        .0;
    message.extend(args);
    let len = (message.len() - MARK_LEN) as u32; // calls are far below 2 GiB
    message[..MARK_LEN].copy_from_slice(&(len | LAST).to_be_bytes());
    message
}
