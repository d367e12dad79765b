//! The load loop's queue over iSCSI.

use std::io;
use std::time::Duration;

use super::session::Session;
use super::unit::Unit;
use super::wire::Scsi;
use crate::transport::{OpenSpec, Transport};

/// A [`strata_io::Queue`] over one or more sessions with one logical unit.
///
/// An I/O that is not of whole blocks of the unit completes with `-EINVAL` and is not sent. A flush is SYNCHRONIZE
/// CACHE of the whole unit.
pub type IscsiQueue = Transport<Scsi>;

impl IscsiQueue {
    /// Log in, waiting `patience` and at most 10 s for each answer.
    ///
    /// # Errors
    /// The target cannot be reached or refuses; depth or block are beyond what can be asked of it. Named with the
    /// address and the next step.
    pub fn open(unit: &Unit, spec: OpenSpec, patience: Duration) -> io::Result<Self> {
        let uri = &unit.uri;
        spec.check(uri)?;
        if spec.dsync && !unit.fua {
            let text = "the unit does not offer FUA, so writes cannot be synchronous; flush after them (--fdatasync 1)";
            return Err(uri.error(text, libc::EOPNOTSUPP));
        }
        let mut wires = Vec::new();
        for _ in 0..spec.connections {
            let session = Session::open(uri, patience)?;
            let wire = Scsi::new(session.agreed, uri.what.lun_bytes(), unit.block_bytes, spec.dsync);
            wires.push((session.line.into_socket(), wire));
        }
        Self::new(uri.to_string(), wires, spec.depth, spec.block)
    }
}
