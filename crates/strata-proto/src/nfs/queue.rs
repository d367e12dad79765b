//! The load loop's queue over NFS.

use std::io;
use std::time::Duration;

use super::file::NfsFile;
use super::wire::Nfs;
use crate::rpc::Session;
use crate::transport::{OpenSpec, Transport};

/// A [`strata_io::Queue`] over one or more connections to one file.
///
/// A read that ends at the end of the file, and a write of which the server took a part, complete with the bytes that
/// were moved.
pub type NfsQueue = Transport<Nfs>;

impl NfsQueue {
    /// Connect, waiting `patience` and at most 10 s for each connection.
    ///
    /// # Errors
    /// The server cannot be reached; the depth or block is beyond what can be asked of it. Named with the address and
    /// the next step.
    pub fn open(file: &NfsFile, spec: OpenSpec, patience: Duration) -> io::Result<Self> {
        let uri = &file.uri;
        let most = file.read_most.min(file.write_most);
        spec.check(uri)?;
        if spec.block > most {
            let text = format!("the server moves at most {most} bytes in one call, not {}", spec.block);
            return Err(uri.error(format_args!("{text}; choose a smaller block size"), libc::EINVAL));
        }
        let mut wires = Vec::new();
        for _ in 0..spec.connections {
            let session = Session::open(&uri.place, file.port, uri.what.cred, patience)
                .map_err(|error| uri.explain("cannot connect", &error))?;
            let wire = Nfs::new(&file.handle, uri.what.cred, spec.dsync, file.verifier.clone());
            wires.push((session.into_socket(), wire));
        }
        Self::new(uri.to_string(), wires, spec.depth, spec.block)
    }
}
