//! A file that was found on a server.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::consts::{ATTRIBUTES, BEFORE, COMMIT, REGULAR};
use super::share::{Handle, Share};
use super::uri::Uri;
use super::verifier::Verifier;
use crate::fields::Fields;
use crate::named::named;
use crate::rpc::Xdr;

/// A file on a server, found once; the queues of all threads are opened on it.
#[derive(Clone, Debug)]
pub struct NfsFile {
    /// Where it is.
    pub uri: Uri,
    /// Its size, in bytes.
    pub size_bytes: u64,
    /// Its number on the server's file system.
    pub file_id: u64,
    /// Longest read the server takes, in bytes.
    pub read_most: u32,
    /// Longest write the server takes, in bytes.
    pub write_most: u32,
    pub(super) handle: Handle,
    pub(super) port: u16,
    pub(super) verifier: Arc<Verifier>,
}

impl NfsFile {
    /// Find the file, waiting `patience` and at most 10 s for each answer.
    ///
    /// # Errors
    /// The server cannot be reached, exports nothing that leads there, or has no such regular file; named with the
    /// address.
    pub fn open(uri: &Uri, patience: Duration) -> io::Result<Self> {
        let mut share = Share::open(uri, patience)?;
        Self::found(&mut share)
    }

    /// Have the server write out what it keeps of the file.
    ///
    /// # Errors
    /// It cannot be reached or refuses, or was started anew since an unstable write through this value's queues.
    pub fn commit(&self, patience: Duration) -> io::Result<()> {
        let mut share = Share::open(&self.uri, patience)?;
        let ask = Xdr::default().opaque(&self.handle).u64(0).u32(0);
        let done = share.call("writing it out", COMMIT, &ask.0)?;
        let verifier = share.told(|| {
            let mut fields = Fields::new("COMMIT reply", &done);
            fields.pass_optional(BEFORE)?;
            fields.pass_optional(ATTRIBUTES)?;
            fields.u64()
        })?;
        let checked = self.verifier.check(verifier);
        checked.map_err(|error| named(&self.uri, &error))
    }

    pub(super) fn found(share: &mut Share) -> io::Result<Self> {
        let handle = share.file()?;
        let seen = share.attributes(&handle)?;
        if seen.kind != REGULAR {
            return Err(share.uri.error("it is not a regular file", libc::EINVAL));
        }
        let limits = share.limits()?;
        Ok(Self {
            uri: share.uri.clone(),
            size_bytes: seen.size_bytes,
            file_id: seen.file_id,
            read_most: limits.read_most,
            write_most: limits.write_most,
            handle,
            port: share.port,
            verifier: Arc::default(),
        })
    }
}
