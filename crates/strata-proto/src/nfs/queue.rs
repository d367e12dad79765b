//! The load loop's queue over NFS.

use std::io;
use std::time::Duration;

use strata_io::{Completion, Io, Queue};

use super::file::NfsFile;
use super::wire::Nfs;
use crate::rpc::Session;
use crate::transport::{MAX_PAYLOAD, OpenSpec, SHORT_DEPTH, Transport};

/// A [`Queue`] over one or more connections to one file.
///
/// A read that ends at the end of the file, and a write of which the server took a part, complete with the bytes that
/// were moved.
#[derive(Debug)]
pub struct NfsQueue {
    transport: Transport<Nfs>,
}

impl NfsQueue {
    /// Connect, waiting `patience` and at most 10 s for each connection.
    ///
    /// # Errors
    /// The server cannot be reached; the depth or block is beyond what can be asked of it. Named with the address and
    /// the next step.
    pub fn open(file: &NfsFile, spec: OpenSpec, patience: Duration) -> io::Result<Self> {
        let uri = &file.uri;
        let refuse = |text: String| Err(uri.error(text, libc::EINVAL));
        let most = file.read_most.min(file.write_most).min(MAX_PAYLOAD);
        if spec.block == 0 || spec.connections == 0 || !(1..=SHORT_DEPTH).contains(&spec.depth) {
            return refuse(format!("depth (at most {SHORT_DEPTH}), block and connections must be positive"));
        }
        if spec.block > most {
            return refuse(format!(
                "the server moves at most {most} bytes in one call, not {}; choose a smaller block size",
                spec.block
            ));
        }
        let mut wires = Vec::new();
        for _ in 0..spec.connections {
            let session = Session::open(&uri.place, file.port, uri.what.cred, patience)
                .map_err(|error| uri.explain("cannot connect", &error))?;
            let wire = Nfs::new(&file.handle, uri.what.cred, spec.dsync, file.verifier.clone());
            wires.push((session.into_socket(), wire));
        }
        Ok(Self { transport: Transport::new(uri.to_string(), wires, spec.depth, spec.block)? })
    }
}

impl Queue for NfsQueue {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.transport.buffer(slot)
    }

    fn push(&mut self, slot: u32, io: Io) {
        self.transport.push(slot, io);
    }

    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        self.transport.submit(wait, timeout)
    }

    fn reap(&mut self, f: impl FnMut(Completion)) -> usize {
        self.transport.reap(f)
    }

    /// Only this thread writes to the buffers, so the sockets need not stay open for their sake.
    fn abandon(self) {}
}
