//! Calls one after the other, each waited for.

use std::io::{self, Read, Write};
use std::time::Duration;

use super::LAST;
use super::call::{Cred, call};
use super::reply::{Header, header};
use super::reserved;
use crate::address::Place;
use crate::codec::ProtoError;
use crate::named::{any_number, named_as};
use crate::netns;
use crate::sock::Socket;

/// Longest wait for a connection and for each answer, whatever the caller's patience.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest reply that is taken in, in bytes.
const MAX_RECORD: usize = 2 << 20;

/// A connection to one RPC program's port.
#[derive(Debug)]
pub(crate) struct Session {
    socket: Socket,
    cred: Cred,
    xid: u32,
}

impl Session {
    /// Connect, waiting for that and later for each answer `patience` and at most 10 s.
    pub(crate) fn open(place: &Place, port: u16, cred: Cred, patience: Duration) -> io::Result<Self> {
        // The system takes no wait of nothing.
        let patience = patience.clamp(Duration::from_millis(1), PATIENCE);
        let dial = || reserved::connect(&place.host, port, patience);
        let socket = Socket::tcp(netns::within(place.netns.as_deref(), dial)?)?;
        socket.set_read_timeout(Some(patience))?;
        socket.set_write_timeout(Some(patience))?;
        Ok(Self { socket, cred, xid: any_number() })
    }

    /// The socket, for what goes on without waiting.
    pub(crate) fn into_socket(self) -> Socket {
        self.socket
    }

    /// One call; its results.
    ///
    /// # Errors
    /// No answer in time (`ETIMEDOUT`), the server refuses the call, or breaks the protocol.
    pub(crate) fn call(
        &mut self,
        program: u32,
        version: u32,
        procedure: u32,
        args: &[u8],
    ) -> io::Result<Vec<u8>> {
        self.xid = self.xid.wrapping_add(1);
        let message = call(self.xid, self.cred, program, version, procedure, args);
        let exchange = || {
            (&mut &self.socket).write_all(&message)?;
            self.record()
        };
        let mut reply = exchange().map_err(|error| match error.kind() {
            // A socket's own words for it are "resource temporarily unavailable".
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                named_as("no answer in time", libc::ETIMEDOUT)
            }
            _ => error,
        })?;
        if reply.first_chunk() != Some(&self.xid.to_be_bytes()) {
            return Err(ProtoError::BadValue { what: "XID of a reply", got: 0 }.into());
        }
        match header(&reply)? {
            Header::Accepted(at) => Ok(reply.split_off(at)),
            Header::Refused(errno) => Err(io::Error::from_raw_os_error(errno)),
            Header::Need(_) => Err(ProtoError::BadLength { what: "RPC reply" }.into()),
        }
    }

    fn record(&self) -> io::Result<Vec<u8>> {
        let mut record = Vec::new();
        loop {
            let mut mark = [0; 4];
            (&mut &self.socket).read_exact(&mut mark)?;
            let mark = u32::from_be_bytes(mark);
            let (from, len) = (record.len(), (mark & !LAST) as usize);
            if from + len > MAX_RECORD {
                let (got, limit) = ((from + len) as u64, MAX_RECORD as u64);
                return Err(ProtoError::TooLong { what: "RPC reply", got, limit }.into());
            }
            record.resize(from + len, 0);
            (&mut &self.socket).read_exact(&mut record[from..])?;
            if mark & LAST != 0 {
                return Ok(record);
            }
        }
    }
}
