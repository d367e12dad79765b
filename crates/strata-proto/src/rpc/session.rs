//! Calls one after the other, each waited for.

use std::io::{self, Read};
use std::time::Duration;

use super::LAST;
use super::call::{Cred, call};
use super::reply::{Header, header};
use super::reserved;
use crate::address::Place;
use crate::error::ProtoError;
use crate::line::{Line, NOTICES};
use crate::named::any_number;
use crate::sock::Socket;

/// Longest reply that is taken in, in bytes.
const MAX_RECORD: usize = 2 << 20;

/// A connection to one RPC program's port.
#[derive(Debug)]
pub(crate) struct Session {
    line: Line,
    cred: Cred,
    xid: u32,
}

impl Session {
    /// Connect from a reserved port if one can be had, waiting for that and later for each answer `patience` and at
    /// most 10 s.
    pub(crate) fn open(place: &Place, port: u16, cred: Cred, patience: Duration) -> io::Result<Self> {
        let line =
            Line::by(place.netns.as_deref(), patience, |until| reserved::dial(&place.host, port, until))?;
        Ok(Self::over(line, cred))
    }

    /// Connect from any port; else as [`Self::open`].
    pub(super) fn open_plainly(place: &Place, port: u16, cred: Cred, patience: Duration) -> io::Result<Self> {
        Ok(Self::over(Line::dial(&place.host, port, place.netns.as_deref(), patience)?, cred))
    }

    fn over(line: Line, cred: Cred) -> Self {
        Self { line, cred, xid: any_number() }
    }

    /// The socket, for what goes on without waiting.
    pub(crate) fn into_socket(self) -> Socket {
        self.line.into_socket()
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
        self.line.ask(&message)?;
        let mut reply = self.record()?;
        if reply.first_chunk() != Some(&self.xid.to_be_bytes()) {
            return Err(ProtoError::BadValue { what: "XID of a reply", got: 0 }.into());
        }
        match header(&reply)? {
            Header::Accepted(at) => Ok(reply.split_off(at)),
            Header::Refused(errno) => Err(io::Error::from_raw_os_error(errno)),
            Header::Need(_) => Err(ProtoError::BadLength { what: "RPC reply" }.into()),
        }
    }

    fn record(&mut self) -> io::Result<Vec<u8>> {
        let mut record = Vec::new();
        for _ in 0..NOTICES {
            let mut mark = [0; 4];
            self.line.read_exact(&mut mark)?;
            let mark = u32::from_be_bytes(mark);
            let (from, len) = (record.len(), (mark & !LAST) as usize);
            ProtoError::within("RPC reply", (from + len) as u64, MAX_RECORD as u64)?;
            record.extend(self.line.take_bytes(len)?);
            if mark & LAST != 0 {
                return Ok(record);
            }
        }
        Err(ProtoError::Endless { what: "fragments of an RPC reply" }.into())
    }
}
