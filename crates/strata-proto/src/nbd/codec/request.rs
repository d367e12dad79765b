//! The request header of the transmission phase.

use super::{MAX_PAYLOAD, ProtoError, consts};
use crate::fields::Fields;

/// Length of a request header, in bytes.
pub const REQUEST_LEN: usize = 28;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send `length` bytes.
    Read,
    /// Take the `length` bytes that follow.
    Write,
    /// The client is leaving; there is no reply.
    Disconnect,
    /// Make everything that was answered durable.
    Flush,
    /// The range is not needed any more.
    Trim,
    /// The range is to read as zeroes.
    WriteZeroes,
    /// A number this codec does not know; answered with `EINVAL`.
    Unknown(u16),
}

/// One request header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// `consts::CMD_FLAG_*`.
    pub flags: u16,
    /// The command.
    pub command: Command,
    /// The client's name for the request; comes back in the reply.
    pub cookie: u64,
    /// First byte of the export.
    pub offset: u64,
    /// Bytes of the export.
    pub length: u32,
}

impl Request {
    /// Read a header.
    ///
    /// # Errors
    /// The magic is wrong, or a write announces more than [`MAX_PAYLOAD`] (its payload could
    /// neither be held nor skipped in reasonable time). Both leave the stream unusable.
    pub fn parse(header: &[u8; REQUEST_LEN]) -> Result<Self, ProtoError> {
        let mut fields = Fields::new("request", header);
        let magic = fields.u32()?;
        if magic != consts::REQUEST_MAGIC {
            return Err(ProtoError::BadMagic { what: "request", got: magic.into() });
        }
        let flags = fields.u16()?;
        let command = match fields.u16()? {
            consts::CMD_READ => Command::Read,
            consts::CMD_WRITE => Command::Write,
            consts::CMD_DISC => Command::Disconnect,
            consts::CMD_FLUSH => Command::Flush,
            consts::CMD_TRIM => Command::Trim,
            consts::CMD_WRITE_ZEROES => Command::WriteZeroes,
            other => Command::Unknown(other),
        };
        let request =
            Self { flags, command, cookie: fields.u64()?, offset: fields.u64()?, length: fields.u32()? };
        if command == Command::Write {
            ProtoError::within("write payload", request.length.into(), MAX_PAYLOAD.into())?;
        }
        Ok(request)
    }

    /// Write a header.
    #[must_use]
    pub fn encode(&self) -> [u8; REQUEST_LEN] {
        let number = match self.command {
            Command::Read => consts::CMD_READ,
            Command::Write => consts::CMD_WRITE,
            Command::Disconnect => consts::CMD_DISC,
            Command::Flush => consts::CMD_FLUSH,
            Command::Trim => consts::CMD_TRIM,
            Command::WriteZeroes => consts::CMD_WRITE_ZEROES,
            Command::Unknown(number) => number,
        };
        let mut out = [0; REQUEST_LEN];
        out[0..4].copy_from_slice(&consts::REQUEST_MAGIC.to_be_bytes());
        out[4..6].copy_from_slice(&self.flags.to_be_bytes());
        out[6..8].copy_from_slice(&number.to_be_bytes());
        out[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        out[16..24].copy_from_slice(&self.offset.to_be_bytes());
        out[24..28].copy_from_slice(&self.length.to_be_bytes());
        out
    }

    /// Bytes that follow the header on the wire.
    #[must_use]
    pub fn payload_len(&self) -> u32 {
        if self.command == Command::Write { self.length } else { 0 }
    }

    /// The NBD error this request deserves before anything is tried: flags nobody negotiated,
    /// a range beyond the end of an export of `size_bytes`, a write to a read-only export.
    #[must_use]
    pub fn refusal(&self, size_bytes: u64, tx_flags: u16) -> Option<u32> {
        let (needs, allowed) = match self.command {
            Command::Read => (0, consts::CMD_FLAG_FUA | consts::CMD_FLAG_DF),
            Command::Write => (0, consts::CMD_FLAG_FUA),
            Command::Flush => (consts::TX_SEND_FLUSH, consts::CMD_FLAG_FUA),
            Command::Trim => (consts::TX_SEND_TRIM, consts::CMD_FLAG_FUA),
            Command::WriteZeroes => {
                (consts::TX_SEND_WRITE_ZEROES, consts::CMD_FLAG_FUA | consts::CMD_FLAG_NO_HOLE)
            }
            Command::Disconnect => return None,
            Command::Unknown(_) => return Some(consts::EINVAL),
        };
        let writes = !matches!(self.command, Command::Read | Command::Flush);
        if writes && tx_flags & consts::TX_READ_ONLY != 0 {
            return Some(consts::EPERM);
        }
        if self.flags & !allowed != 0 || tx_flags & needs != needs {
            return Some(consts::EINVAL);
        }
        if self.flags & consts::CMD_FLAG_DF != 0 && tx_flags & consts::TX_SEND_DF == 0 {
            return Some(consts::EINVAL);
        }
        if self.command == Command::Flush {
            return None; // its offset and length mean nothing
        }
        if self.length == 0 || (self.command == Command::Read && self.length > MAX_PAYLOAD) {
            return Some(consts::EINVAL);
        }
        match self.offset.checked_add(self.length.into()) {
            Some(end) if end <= size_bytes => None,
            _ if writes => Some(consts::ENOSPC),
            _ => Some(consts::EINVAL),
        }
    }
}
