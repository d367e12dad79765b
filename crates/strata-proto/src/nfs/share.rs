//! From an address to the handles of a file and its directory.

use std::io;
use std::time::Duration;

use super::consts::{
    self, CREATE, FSINFO, GETATTR, LOOKUP, MAX_HANDLE, MNT, MOUNT_PROGRAM, MOUNT_VERSION, NFS_PROGRAM,
    NFS_VERSION, UMNT,
};
use super::uri::{Named, Uri};
use crate::address::Protocol;
use crate::error::ProtoError;
use crate::fields::Fields;
use crate::named::{named, named_as};
use crate::rpc::{Session, Xdr, port_of};

const EXPORTS: u32 = 5;
/// Longest path a server may tell, in bytes (RFC 1813).
const MAX_PATH: u32 = 1024;
/// Exports that an error names at most.
const NAMED: usize = 8;

/// What a server calls a file by.
pub(super) type Handle = Vec<u8>;

/// A connection to the server, and the directory that holds the file.
pub(super) struct Share {
    pub(super) uri: Uri,
    pub(super) port: u16,
    pub(super) folder: Handle,
    pub(super) name: String,
    session: Session,
}

/// What FSINFO tells, in bytes.
pub(super) struct Limits {
    pub(super) read_most: u32,
    pub(super) write_most: u32,
}

/// What GETATTR tells.
pub(super) struct Attributes {
    pub(super) kind: u32,
    pub(super) size_bytes: u64,
    pub(super) file_id: u64,
}

impl Share {
    /// Mount the export that holds the file and walk to its directory, waiting `patience` and at most 10 s for each
    /// answer.
    pub(super) fn open(uri: &Uri, patience: Duration) -> io::Result<Self> {
        let names = uri.what.names();
        let Some((name, folders)) = names.split_last() else {
            return Err(uri.error("the path of the file is missing", libc::EINVAL));
        };
        let (root, depth) = mount(uri, folders, patience)?;
        let port = match uri.place.port {
            Some(port) => port,
            // Who told the port of MOUNT may have no portmapper at all.
            None if uri.what.mount_port.is_some() => Named::PORT,
            None => port_of(&uri.place, NFS_PROGRAM, NFS_VERSION, uri.what.cred, patience)
                .map_err(|error| uri.explain("asking for the port of its NFS server", &error))?,
        };
        let session = Session::open(&uri.place, port, uri.what.cred, patience)
            .map_err(|error| uri.explain("cannot connect", &error))?;
        let mut share = Self { uri: uri.clone(), port, folder: root, name: (*name).to_owned(), session };
        for name in &folders[depth..] {
            share.folder = share.lookup(name)?;
        }
        Ok(share)
    }

    /// One NFS call that takes a handle first; its results behind the status.
    ///
    /// # Errors
    /// Those of the connection, or the server's status; named with the address and `what`.
    pub(super) fn call(&mut self, what: &str, procedure: u32, args: &[u8]) -> io::Result<Vec<u8>> {
        let results = self.session.call(NFS_PROGRAM, NFS_VERSION, procedure, args);
        let results = results.and_then(|results| {
            let status = Fields::new("NFS reply", &results).u32()?;
            if status == 0 {
                return Ok(results[4..].to_vec());
            }
            Err(io::Error::from_raw_os_error(consts::errno_of(status)))
        });
        results.map_err(|error| self.uri.explain(what, &error))
    }

    /// What `read` makes of a reply; where it cannot, that is named with the address.
    pub(super) fn told<T>(&self, read: impl FnOnce() -> Result<T, ProtoError>) -> io::Result<T> {
        read().map_err(|error| named(&self.uri, &error.into()))
    }

    /// A call that does nothing: wire and RPC alone.
    pub(super) fn null(&mut self) -> io::Result<()> {
        let done = self.session.call(NFS_PROGRAM, NFS_VERSION, consts::NULL, &[]);
        done.map(|_| ()).map_err(|error| self.uri.explain("asking for nothing", &error))
    }

    /// The handle of a name in the directory.
    pub(super) fn lookup(&mut self, name: &str) -> io::Result<Handle> {
        let ask = Xdr::default().opaque(&self.folder).opaque(name.as_bytes());
        let found = self.call(&format!("looking up {name:?}"), LOOKUP, &ask.0)?;
        self.told(|| Ok(Fields::new("LOOKUP reply", &found).opaque("file handle", MAX_HANDLE)?.to_vec()))
    }

    /// The handle of the file itself.
    pub(super) fn file(&mut self) -> io::Result<Handle> {
        let name = self.name.clone();
        self.lookup(&name)
    }

    pub(super) fn attributes(&mut self, handle: &[u8]) -> io::Result<Attributes> {
        let found = self.call("asking for its attributes", GETATTR, &Xdr::default().opaque(handle).0)?;
        self.told(|| {
            let mut fields = Fields::new("GETATTR reply", &found);
            let kind = fields.u32()?;
            fields.take(16)?; // mode, links, owner, group
            let size_bytes = fields.u64()?;
            fields.take(24)?; // used bytes, device numbers, file system
            Ok(Attributes { kind, size_bytes, file_id: fields.u64()? })
        })
    }

    pub(super) fn limits(&mut self) -> io::Result<Limits> {
        let ask = Xdr::default().opaque(&self.folder);
        let found = self.call("asking for its limits", FSINFO, &ask.0)?;
        self.told(|| {
            let mut fields = Fields::new("FSINFO reply", &found);
            fields.pass_optional(consts::ATTRIBUTES)?;
            let read_most = fields.u32()?;
            fields.take(8)?; // preferred size and multiple
            Ok(Limits { read_most, write_most: fields.u32()? })
        })
    }

    /// Make the file, which must not be there; its handle.
    pub(super) fn create(&mut self) -> io::Result<Handle> {
        const GUARDED: u32 = 1;
        let place = Xdr::default().opaque(&self.folder).opaque(self.name.as_bytes());
        // Mode, then neither owner nor group nor size nor times.
        let ask = place.u32(GUARDED).u32(1).u32(0o600).u32(0).u32(0).u32(0).u32(0).u32(0);
        let made = self.call("making the file", CREATE, &ask.0)?;
        let handle = self.told(|| {
            let mut fields = Fields::new("CREATE reply", &made);
            let there = fields.u32()? != 0;
            Ok(if there { Some(fields.opaque("file handle", MAX_HANDLE)?.to_vec()) } else { None })
        })?;
        handle.map_or_else(|| self.file(), Ok)
    }
}

/// Mount the deepest of `folders` that the server gives: its handle, and how many names lead to it.
fn mount(uri: &Uri, folders: &[&str], patience: Duration) -> io::Result<(Handle, usize)> {
    let port = match uri.what.mount_port {
        Some(port) => Ok(port),
        None => port_of(&uri.place, MOUNT_PROGRAM, MOUNT_VERSION, uri.what.cred, patience),
    };
    let port = port.map_err(|error| {
        uri.explain("asking for the port of its MOUNT server (?mountport=N sets it)", &error)
    })?;
    let mut session = Session::open(&uri.place, port, uri.what.cred, patience)
        .map_err(|error| uri.explain("cannot reach its MOUNT server", &error))?;
    let mut first = None;
    for depth in (0..=folders.len()).rev() {
        let path = format!("/{}", folders[..depth].join("/"));
        let ask = Xdr::default().opaque(path.as_bytes());
        let found = session
            .call(MOUNT_PROGRAM, MOUNT_VERSION, MNT, &ask.0)
            .map_err(|error| uri.explain("mounting", &error))?;
        let mut fields = Fields::new("MNT reply", &found);
        let status = fields.u32()?;
        if status == 0 {
            let handle = fields.opaque("file handle", MAX_HANDLE)?.to_vec();
            // The handle stays good: this only takes us off the server's list of clients.
            let _unlisted = session.call(MOUNT_PROGRAM, MOUNT_VERSION, UMNT, &ask.0);
            return Ok((handle, depth));
        }
        // What it says of the deepest folder is most to the point, unless it is only that this is no export itself.
        let errno = consts::errno_of(status);
        first = first.filter(|known| *known != libc::ENOENT).or(Some(errno));
    }
    let errno = first.unwrap_or(libc::ENOENT);
    let why = io::Error::from_raw_os_error(errno);
    let there = exports(&mut session).unwrap_or_default();
    let there = if there.is_empty() { "none that it names".to_owned() } else { there.join(", ") };
    let text = format!("{uri}: no export of the server contains this path: {why}; it exports {there}");
    Err(named_as(text, errno))
}

fn exports(session: &mut Session) -> io::Result<Vec<String>> {
    let found = session.call(MOUNT_PROGRAM, MOUNT_VERSION, EXPORTS, &[])?;
    let mut fields = Fields::new("EXPORT reply", &found);
    let mut names = Vec::new();
    while names.len() < NAMED && fields.u32()? == 1 {
        let path = fields.opaque("export", MAX_PATH)?;
        names.push(String::from_utf8_lossy(path).into_owned());
        while fields.u32()? == 1 {
            fields.opaque("group", MAX_PATH)?;
        }
    }
    Ok::<_, ProtoError>(names).map_err(Into::into)
}
