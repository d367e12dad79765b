//! NFS calls and replies on one connection.

use std::io;
use std::sync::Arc;

use strata_io::Op;

use super::consts::{COMMIT, FILE_SYNC, NFS_PROGRAM, NFS_VERSION, READ, UNSTABLE, WRITE};
use super::replies::Replies;
use super::verifier::Verifier;
use crate::rpc::{Cred, LAST, MARK_LEN, Xdr, call};
use crate::transport::{Ask, Done, OfLink, Out, Want, Wire, short_name};

/// Room for the longest head of a call: mark, RPC head with credentials, a handle of 64 bytes, the numbers of a WRITE.
const ROOM: usize = 176;
const XID_AT: usize = 4;
const PROCEDURE_AT: usize = 24;

/// A request in flight, as its reply must be compared with it.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    pub(super) op: Op,
    pub(super) len: u32,
    /// How durable a write was asked to be.
    pub(super) stable: u32,
}

impl Default for Pending {
    fn default() -> Self {
        Self { op: Op::Read, len: 0, stable: UNSTABLE }
    }
}

/// A call up to its payload.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    bytes: [u8; ROOM],
    len: u8,
}

impl AsRef<[u8]> for Head {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl Head {
    fn extend(&mut self, bytes: &[u8]) {
        let from = usize::from(self.len);
        self.bytes[from..from + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len() as u8; // ROOM is below 256
    }
}

/// A connection on which one file is read and written.
#[derive(Debug)]
pub struct Nfs {
    /// All that the calls of this connection have in common, up to the file's handle.
    common: Head,
    stable: u32,
    replies: Replies,
}

impl Nfs {
    /// Calls for the file with this handle (at most 64 bytes), in the name of `cred`.
    pub(super) fn new(handle: &[u8], cred: Cred, dsync: bool, verifier: Arc<Verifier>) -> Self {
        let args = Xdr::default().opaque(handle).0;
        let mut common = Head { bytes: [0; ROOM], len: 0 };
        common.extend(&call(0, cred, NFS_PROGRAM, NFS_VERSION, 0, &args));
        let stable = if dsync { FILE_SYNC } else { UNSTABLE };
        Self { common, stable, replies: Replies::new(verifier) }
    }
}

impl Wire for Nfs {
    type Pending = Pending;
    type Head = Head;

    fn ask(&mut self, ask: &Ask, pending: &mut Pending, out: &mut Out<Head>) {
        *pending = Pending { op: ask.op, len: ask.len, stable: self.stable };
        let mut head = self.common;
        let (procedure, payload) = match ask.op {
            Op::Read => (READ, 0),
            Op::Write => (WRITE, ask.len),
            Op::Fsync | Op::Fdatasync => (COMMIT, 0),
        };
        match ask.op {
            Op::Read | Op::Write => {
                head.extend(&ask.offset.to_be_bytes());
                head.extend(&ask.len.to_be_bytes());
            }
            // The whole file.
            Op::Fsync | Op::Fdatasync => head.extend(&[0; 12]),
        }
        if ask.op == Op::Write {
            head.extend(&self.stable.to_be_bytes());
            head.extend(&ask.len.to_be_bytes());
        }
        let length = u32::from(head.len) - MARK_LEN as u32 + payload.next_multiple_of(4);
        head.bytes[..MARK_LEN].copy_from_slice(&(length | LAST).to_be_bytes());
        head.bytes[XID_AT..XID_AT + 4].copy_from_slice(&short_name(ask.cookie).to_be_bytes());
        head.bytes[PROCEDURE_AT..PROCEDURE_AT + 4].copy_from_slice(&procedure.to_be_bytes());
        out.put_padded(head, ask.slot, 0, payload);
    }

    fn want(&self) -> Want {
        self.replies.want()
    }

    fn control(
        &mut self,
        bytes: &[u8],
        slots: &mut OfLink<'_, Pending>,
        _out: &mut Out<Head>,
    ) -> io::Result<Done> {
        self.replies.control(bytes, slots)
    }

    fn data(&mut self, len: u32, _slots: &mut OfLink<'_, Pending>) -> io::Result<Done> {
        self.replies.data(len)
    }

    fn skipped(&mut self, len: u32, _slots: &mut OfLink<'_, Pending>) -> io::Result<Done> {
        self.replies.skipped(len)
    }
}
