//! The load loop's queue over SMB.

use std::io;
use std::time::Duration;

use strata_io::{Completion, Io, Queue};
use strata_proto::transport::Connections;

use crate::cards::Spread;
use crate::dial::{Agreed, CreateOptions, Purpose, dial_at};
use crate::frame::charge_of;
use crate::link::Link;
use crate::uri::Uri;

/// What a queue is asked to be; unless more is said, of nothing, read only.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenSpec {
    /// Requests in flight at most, over all connections.
    pub depth: u32,
    /// Bytes of the longest request.
    pub block: u32,
    /// Connections; requests are distributed over them in turn.
    pub connections: u32,
    /// Whether anything is written.
    pub write: bool,
    /// The file is opened for write-through.
    pub through: bool,
    /// Each write asks to be written through.
    pub through_each: bool,
    /// The server is asked to go past its cache.
    pub unbuffered: bool,
}

/// A [`Queue`] over one or more connections to one file.
///
/// Requests that have no credit wait here and go as replies bring some, in their order. A flush covers what was answered
/// before it, on any connection.
#[derive(Debug)]
pub struct SmbQueue {
    agreed: Agreed,
    size_bytes: u64,
    sessions: u32,
    connections: Connections<Link>,
}

impl SmbQueue {
    /// Connect to `uri` and open its file, waiting at most 10 s for each answer.
    ///
    /// # Errors
    /// As [`Self::open_over`].
    pub fn open(uri: &Uri, spec: OpenSpec) -> io::Result<Self> {
        Self::open_over(uri, spec, &Spread::default(), Duration::MAX)
    }

    /// Connect to `uri`, each connection to the next address of `spread`, and open its file, waiting `patience` and at most
    /// 10 s for each answer.
    ///
    /// # Errors
    /// The server cannot be reached or refuses; it does not take requests of this size, or not protected as asked.
    /// Named with the address and the next step.
    pub fn open_over(uri: &Uri, spec: OpenSpec, spread: &Spread, patience: Duration) -> io::Result<Self> {
        if spec.depth == 0 || spec.block == 0 || spec.connections == 0 {
            let text = "depth, block and connections must be positive";
            return Err(uri.error(text, libc::EINVAL));
        }
        let purpose = if spec.write { Purpose::Write } else { Purpose::Read };
        let options = CreateOptions { through: spec.through, unbuffered: spec.unbuffered };
        // A credit more, so that asking for credits never takes one from an I/O.
        let wanted = u64::from(spec.depth.div_ceil(spec.connections)) * u64::from(charge_of(spec.block)) + 1;
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        let mut first = dial_at(uri, spread.next(), purpose, options, patience)?;
        let longest = if spec.write {
            first.agreed.max_read.min(first.agreed.max_write)
        } else {
            first.agreed.max_read
        };
        if spec.block > longest {
            let text = format!("the server takes requests of {longest} bytes, not blocks of {}", spec.block);
            return Err(uri.error(format_args!("{text}; choose a smaller bs"), libc::EOPNOTSUPP));
        }
        let size_bytes = first.size_bytes;
        let mut links = Vec::new();
        let mut others = Vec::new();
        for number in 1..spec.connections {
            if uri.what.multichannel {
                let talk = first.join(u8::try_from(number).unwrap_or(u8::MAX), spread.next(), patience)?;
                others.push((talk, first.handle));
            } else {
                let other = dial_at(uri, spread.next(), purpose, options, patience)?;
                if other.size_bytes != size_bytes {
                    let text = "its size differs between two connections";
                    return Err(uri.error(text, libc::EBUSY));
                }
                others.push((other.talk, other.handle));
            }
        }
        first.talk.gather(wanted)?;
        let agreed = Agreed { credits: first.talk.credits, ..first.agreed };
        others.insert(0, (first.talk, first.handle));
        for (mut talk, handle) in others {
            talk.gather(wanted)?;
            if talk.credits < u32::from(charge_of(spec.block)) {
                let text = format!("the server grants {} credits, a block needs more", talk.credits);
                return Err(uri.error(format_args!("{text}; choose a smaller bs"), libc::EOPNOTSUPP));
            }
            let closes = links.is_empty() || !uri.what.multichannel;
            links.push(Link::new(talk, handle, wanted, spec.through_each, closes)?);
        }
        let sessions = if uri.what.multichannel { 1 } else { spec.connections };
        let connections = Connections::over(uri.to_string(), links, spec.depth, spec.block);
        Ok(Self { agreed, size_bytes, sessions, connections })
    }

    /// What both sides agreed on, on the first connection.
    #[must_use]
    pub fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Bytes of the file when it was opened.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Sessions: as many as connections, or one of which all connections are channels.
    #[must_use]
    pub fn sessions(&self) -> u32 {
        self.sessions
    }
}

impl Queue for SmbQueue {
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.connections.buffer(slot)
    }

    fn push(&mut self, slot: u32, io: Io) {
        self.connections.push(slot, io);
    }

    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        self.connections.submit(wait, timeout)
    }

    fn reap(&mut self, f: impl FnMut(Completion)) -> usize {
        self.connections.reap(f)
    }

    fn abandon(self) {
        self.connections.abandon();
    }
}
