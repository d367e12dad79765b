//! The load loop's queue over NBD.

use std::io;
use std::time::Duration;

use super::dial::Negotiation;
use super::uri::Uri;
use super::wire::Nbd;
use crate::nbd::codec::{Export, ReplyMachine, consts};
use crate::transport::{OpenSpec, Transport};

/// A [`strata_io::Queue`] over one or more connections to one export.
///
/// A flush covers what was answered before it on any connection: several are used only where the server promises one
/// coherent disk. Where the server offers none it completes with `-EOPNOTSUPP` and is not sent.
pub type NbdQueue = Transport<Nbd>;

impl NbdQueue {
    /// Connect to `uri`, waiting at most 10 s for each answer of the handshake.
    ///
    /// # Errors
    /// As [`Self::open_within`].
    pub fn open(uri: &Uri, spec: OpenSpec) -> io::Result<Self> {
        Self::open_within(uri, spec, Duration::MAX)
    }

    /// Connect to `uri`, waiting `patience` and at most 10 s for each answer of the handshake.
    ///
    /// # Errors
    /// The server cannot be reached; it does not offer several connections, FUA or blocks of this
    /// size, but they are asked for. Named with the address and the next step.
    pub fn open_within(uri: &Uri, spec: OpenSpec, patience: Duration) -> io::Result<Self> {
        let refuse = |text: String| Err(uri.error(text, libc::EOPNOTSUPP));
        spec.check(uri)?;
        let write_flags = if spec.dsync { consts::CMD_FLAG_FUA } else { 0 };
        let mut wires: Vec<(_, Nbd)> = Vec::new();
        for _ in 0..spec.connections {
            let mut negotiation = Negotiation::start(uri, patience)?;
            if uri.what.structured {
                negotiation.ask_structured()?;
            }
            let export = negotiation.go()?;
            if spec.connections > 1 && !export.has(consts::TX_CAN_MULTI_CONN) {
                let text = "the server does not promise one coherent disk over several connections \
                            (CAN_MULTI_CONN); use connections=1";
                return refuse(text.into());
            }
            if wires.first().is_some_and(|(_, first)| first.export.size_bytes != export.size_bytes) {
                return refuse("its size differs between two connections".into());
            }
            let (structured, machine) = (negotiation.structured, ReplyMachine::default());
            wires.push((negotiation.line.into_socket(), Nbd { machine, write_flags, export, structured }));
        }
        let export = &wires[0].1.export; // of at least one connection
        if spec.dsync && !export.has(consts::TX_SEND_FUA) {
            return refuse("the server does not offer FUA, so writes cannot be synchronous".into());
        }
        if let Some(blocks) = export.blocks
            && (spec.block > blocks.maximum || !spec.block.is_multiple_of(blocks.minimum))
        {
            let (least, most) = (blocks.minimum, blocks.maximum);
            return refuse(format!(
                "it takes multiples of {least} bytes up to {most}, not blocks of {}",
                spec.block
            ));
        }
        Self::new(uri.to_string(), wires, spec.depth, spec.block)
    }

    /// The export as the server told it.
    #[must_use]
    pub fn export(&self) -> &Export {
        &self.first().export
    }

    /// Whether the address asks for structured replies and the server agreed.
    #[must_use]
    pub fn structured(&self) -> bool {
        self.first().structured
    }
}
