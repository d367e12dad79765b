//! One connection while it is set up: one request, one answer, and a bounded wait for it.

use std::io::{self, Read};
use std::net::IpAddr;
use std::time::Duration;

use smb2::crypto::kdf::PreauthHasher;
use smb2::msg::Header;
use smb2::pack::{Pack, ReadCursor, Unpack, WriteCursor};
use smb2::types::status::NtStatus;
use smb2::types::{Command, CreditCharge, MessageId, SessionId, TreeId};
use strata_proto::line::{Line, NOTICES};
use strata_proto::named_as;

use crate::frame::{HEADER, PREFIX, SIGNED, prefix};
use crate::guard::{Guard, Signer, invalid};
use crate::link::{four, header_of};
use crate::uri::Uri;

/// How often credits are asked for before the load begins with what there is.
const ROUNDS: u32 = 64;
/// Credits asked for with each request of the set-up.
const CREDITS: u16 = 256;

/// An answer.
pub(crate) struct Reply {
    pub(crate) header: Header,
    /// The whole message, header included.
    pub(crate) message: Vec<u8>,
}

impl Reply {
    /// The body as `T`.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn body<T: Unpack>(&self) -> io::Result<T> {
        T::unpack(&mut ReadCursor::new(self.message.get(HEADER..).unwrap_or_default()))
            .map_err(|_| invalid("a reply that is not well formed"))
    }
}

/// A connection on which one thing is asked after the other.
pub(crate) struct SetupConnection {
    pub(crate) uri: Uri,
    pub(crate) line: Line,
    pub(crate) guard: Guard,
    /// What the key derivation takes in of negotiation and logon.
    pub(crate) hash: PreauthHasher,
    pub(crate) session: u64,
    pub(crate) tree: u32,
    pub(crate) next_id: u64,
    pub(crate) credits: u32,
}

impl SetupConnection {
    /// Connect to the server of `uri`, or to that other address of it, waiting `patience` and at most 10 s, for every answer too.
    ///
    /// # Errors
    /// Nobody listens there; named with the address.
    pub(crate) fn connect(uri: &Uri, at: Option<IpAddr>, patience: Duration) -> io::Result<Self> {
        let line = match at {
            None => uri.dial(patience).map_err(|error| explain(uri, "cannot connect", &error))?,
            Some(address) => uri.dial_at(&address.to_string(), patience).map_err(|error| {
                let what = format!("cannot connect to its address {address} (spread=off leaves it out)");
                explain(uri, &what, &error)
            })?,
        };
        Ok(Self {
            uri: uri.clone(),
            line,
            guard: Guard::Plain,
            hash: PreauthHasher::new(),
            session: 0,
            tree: 0,
            next_id: 0,
            credits: 1,
        })
    }

    /// A connection that is set up, over this socket.
    #[cfg(test)]
    pub(crate) fn over(socket: std::net::TcpStream, credits: u32) -> Self {
        let socket = strata_proto::Socket::tcp(socket).expect("a socket");
        let line = Line::over(socket, Duration::from_secs(10));
        let uri = "smb://u@h/s/f".parse().expect("an address");
        let (guard, hash) = (Guard::Plain, PreauthHasher::new());
        Self { uri, line, guard, hash, session: 1, tree: 1, next_id: 7, credits }
    }

    /// Ask `body`, whose answer brings or takes `payload` bytes; the answer, whatever its status.
    ///
    /// # Errors
    /// No answer in time, or not one of SMB; named with the address and `what`.
    pub(crate) fn ask(
        &mut self,
        what: &str,
        command: Command,
        body: &dyn Pack,
        payload: u32,
    ) -> io::Result<Reply> {
        let wire = self.wire(command, body, payload);
        self.exchange(wire, None).map_err(|error| explain(&self.uri, what, &error))
    }

    /// As [`Self::ask`], signed by `signer` whatever the connection does else; the answer must be signed as well.
    pub(crate) fn ask_signed(
        &mut self,
        what: &str,
        command: Command,
        body: &dyn Pack,
        signer: &Signer,
        check: bool,
    ) -> io::Result<Reply> {
        let wire = self.wire(command, body, 0);
        self.exchange(wire, Some((signer, check))).map_err(|error| explain(&self.uri, what, &error))
    }

    /// As [`Self::ask`], and a refusal is an error that names `what`.
    pub(crate) fn demand(
        &mut self,
        what: &str,
        command: Command,
        body: &dyn Pack,
        payload: u32,
    ) -> io::Result<Reply> {
        let reply = self.ask(what, command, body, payload)?;
        if reply.header.status.is_success() {
            return Ok(reply);
        }
        Err(crate::status::refused(format_args!("{}: {what}", self.uri), reply.header.status))
    }

    /// Ask for more credits until there are `wanted`, or the server gives no more.
    pub(crate) fn gather(&mut self, wanted: u32) -> io::Result<()> {
        let mut before = 0;
        for _ in 0..ROUNDS {
            if self.credits >= wanted || self.credits <= before {
                break;
            }
            before = self.credits;
            self.demand("asking for credits", Command::Echo, &smb2::msg::echo::EchoRequest, 0)?;
        }
        Ok(())
    }

    fn wire(&self, command: Command, body: &dyn Pack, payload: u32) -> Vec<u8> {
        let mut header = Header::new_request(command);
        header.credit_charge = CreditCharge(crate::frame::charge_of(payload));
        header.credits = CREDITS;
        header.message_id = MessageId(self.next_id);
        header.session_id = SessionId(self.session);
        header.tree_id = Some(TreeId(self.tree));
        let mut cursor = WriteCursor::new();
        cursor.write_bytes(&[0; PREFIX]);
        header.pack(&mut cursor);
        // Offsets inside a body count from its own header: a cursor of its own keeps alignment right.
        let mut inner = WriteCursor::new();
        body.pack(&mut inner);
        cursor.write_bytes(inner.as_bytes());
        let mut wire = cursor.into_inner();
        let message = wire.len() - PREFIX;
        wire[..PREFIX].copy_from_slice(&prefix(message));
        wire
    }

    fn exchange(&mut self, mut wire: Vec<u8>, signer: Option<(&Signer, bool)>) -> io::Result<Reply> {
        let id = self.next_id;
        let charge = u32::from(u16::from_le_bytes([wire[PREFIX + 6], wire[PREFIX + 7]]));
        self.credits = self.credits.checked_sub(charge).ok_or_else(|| {
            named_as("the server grants too few credits for a request of this size", libc::EPROTO)
        })?;
        self.next_id += u64::from(charge);
        let early = matches!(wire[PREFIX + 12], 0 | 1);
        let wire = match (signer, &mut self.guard) {
            (Some((signer, _)), _) => {
                wire[PREFIX + 16] |= SIGNED as u8;
                signer.sign(wire, id)?
            }
            (None, guard @ Guard::Sign(_)) => {
                wire[PREFIX + 16] |= SIGNED as u8;
                guard.close(wire, id)?
            }
            (None, guard) => guard.close(wire, id)?,
        };
        if early {
            self.hash.update(&wire[PREFIX..]);
        }
        self.line.ask(&wire)?;
        for _ in 0..NOTICES {
            let outer = self.receive()?;
            let mut room = Vec::new();
            let message = match signer {
                None => self.guard.open(&outer, &mut room)?,
                Some((signer, check)) => {
                    if check && !NtStatus(four(&outer, 8).unwrap_or(0)).is_pending() {
                        signer.verify(&outer)?;
                    }
                    &outer
                }
            };
            let header = header_of(message)?;
            self.credits += u32::from(header.credits);
            if header.message_id.0 == id && !header.status.is_pending() {
                return Ok(Reply { header, message: message.to_vec() });
            }
        }
        Err(invalid("notices without end in place of an answer"))
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; PREFIX];
        self.line.read_exact(&mut length)?;
        if length[0] != 0 {
            return Err(invalid("an answer that is not SMB"));
        }
        self.line.take_bytes(u32::from_be_bytes(length) as usize) // below 16 MiB
    }
}

fn explain(uri: &Uri, what: &str, error: &io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            let why = "the server hung up; does it speak SMB 3.1.1, and does it admit this address?";
            uri.error(format_args!("{what}: {why}"), libc::ECONNRESET)
        }
        io::ErrorKind::ConnectionRefused => {
            let why = "nothing listens there; is the server running, and is the port right?";
            uri.error(format_args!("{what}: {why}"), libc::ECONNREFUSED)
        }
        _ => uri.explain(what, error),
    }
}
