//! The load loop's queue over NBD.

use std::io;
use std::time::Duration;

use strata_io::{Completion, Io, Op, Queue};

use super::dial::Haggle;
use super::uri::Uri;
use super::wire::Nbd;
use crate::nbd::codec::{Export, MAX_PAYLOAD, consts};
use crate::transport::{OpenSpec, Transport};

/// A [`Queue`] over one or more connections to one export.
///
/// A flush covers what was answered before it on any connection: several are used only where the server promises one
/// coherent disk. Where the server offers none it completes with `-EOPNOTSUPP` and is not sent.
#[derive(Debug)]
pub struct NbdQueue {
    export: Export,
    structured: bool,
    transport: Transport<Nbd>,
}

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
        if spec.depth == 0 || spec.block == 0 || spec.block > MAX_PAYLOAD || spec.connections == 0 {
            let text = format!("depth, block (at most {MAX_PAYLOAD} bytes) and connections must be positive");
            return Err(uri.error(text, libc::EINVAL));
        }
        let mut wires = Vec::new();
        let mut seen: Option<(Export, bool)> = None;
        for number in 0..spec.connections as usize {
            let mut haggle = Haggle::start(uri, patience)?;
            if uri.what.structured {
                haggle.ask_structured()?;
            }
            let export = haggle.go()?;
            if number == 0 && spec.connections > 1 && !export.has(consts::TX_CAN_MULTI_CONN) {
                let text = "the server does not promise one coherent disk over several connections \
                            (CAN_MULTI_CONN); use connections=1";
                return refuse(text.into());
            }
            let structured = haggle.structured;
            let write_flags = if spec.dsync { consts::CMD_FLAG_FUA } else { 0 };
            wires.push((haggle.line.into_socket(), Nbd { write_flags, ..Nbd::default() }));
            match &seen {
                Some((first, _)) if first.size_bytes != export.size_bytes => {
                    return refuse("its size differs between two connections".into());
                }
                Some(_) => {}
                None => seen = Some((export, structured)),
            }
        }
        let Some((export, structured)) = seen else { return refuse("no connection".into()) };
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
        let transport = Transport::new(uri.to_string(), wires, spec.depth, spec.block)?;
        Ok(Self { export, structured, transport })
    }

    /// The export as the server told it.
    #[must_use]
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Whether the address asks for structured replies and the server agreed.
    #[must_use]
    pub fn structured(&self) -> bool {
        self.structured
    }
}

impl Queue for NbdQueue {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.transport.buffer(slot)
    }

    fn push(&mut self, slot: u32, io: Io) {
        let flushes = matches!(io.op(), Op::Fsync | Op::Fdatasync);
        if flushes && !self.export.has(consts::TX_SEND_FLUSH) {
            // The protocol forbids to ask: a server may hang up on it.
            return self.transport.refuse(slot, libc::EOPNOTSUPP);
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
