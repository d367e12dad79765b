//! The load loop's queue over iSCSI.

use std::io;
use std::time::Duration;

use strata_io::{Completion, Io, Op, Queue};

use super::session::Session;
use super::unit::Unit;
use super::wire::Scsi;
use crate::transport::{MAX_PAYLOAD, OpenSpec, SHORT_DEPTH, Transport};

/// A [`Queue`] over one or more sessions with one logical unit.
///
/// An I/O that is not of whole blocks of the unit completes with `-EINVAL` and is not sent. A flush is SYNCHRONIZE
/// CACHE of the whole unit.
#[derive(Debug)]
pub struct IscsiQueue {
    transport: Transport<Scsi>,
    block_bytes: u32,
}

impl IscsiQueue {
    /// Log in, waiting `patience` and at most 10 s for each answer.
    ///
    /// # Errors
    /// The target cannot be reached or refuses; depth or block are beyond what can be asked of it. Named with the
    /// address and the next step.
    pub fn open(unit: &Unit, spec: OpenSpec, patience: Duration) -> io::Result<Self> {
        let uri = &unit.uri;
        let refuse = |text: String, errno| Err(uri.error(text, errno));
        if spec.block == 0 || spec.block > MAX_PAYLOAD || spec.connections == 0 {
            let text = format!("block (at most {MAX_PAYLOAD} bytes) and connections must be positive");
            return refuse(text, libc::EINVAL);
        }
        if !(1..=SHORT_DEPTH).contains(&spec.depth) {
            return refuse(format!("the depth must be 1 to {SHORT_DEPTH}"), libc::EINVAL);
        }
        if spec.dsync && !unit.fua {
            let text = "the unit does not offer FUA, so writes cannot be synchronous; flush after them (--fdatasync 1)";
            return refuse(text.into(), libc::EOPNOTSUPP);
        }
        let mut wires = Vec::new();
        for _ in 0..spec.connections {
            let session = Session::open(uri, patience)?;
            let wire = Scsi::new(session.agreed, uri.what.lun_bytes(), unit.block_bytes, spec.dsync);
            wires.push((session.line.into_socket(), wire));
        }
        let transport = Transport::new(uri.to_string(), wires, spec.depth, spec.block)?;
        Ok(Self { transport, block_bytes: unit.block_bytes })
    }
}

impl Queue for IscsiQueue {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.transport.buffer(slot)
    }

    fn push(&mut self, slot: u32, io: Io) {
        let block = u64::from(self.block_bytes);
        let whole = (io.offset() | u64::from(io.len())).is_multiple_of(block);
        if matches!(io.op(), Op::Read | Op::Write) && !whole {
            return self.transport.refuse(slot, libc::EINVAL);
        }
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
