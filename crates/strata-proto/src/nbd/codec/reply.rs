//! Reply headers, simple and structured.

use super::{ProtoError, consts};
use crate::fields::Fields;

/// Length of a simple reply's header, in bytes.
pub const SIMPLE_LEN: usize = 16;
/// Length of a structured reply chunk's header, in bytes.
pub const STRUCTURED_LEN: usize = 20;

/// The head of one reply or chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyHeader {
    /// A whole reply; the data of a successful read follow.
    Simple {
        /// 0 or an NBD error number.
        error: u32,
        /// The request.
        cookie: u64,
    },
    /// One chunk of a reply.
    Structured {
        /// `consts::CHUNK_FLAG_*`.
        flags: u16,
        /// `consts::CHUNK_*`.
        kind: u16,
        /// The request.
        cookie: u64,
        /// Bytes that follow.
        length: u32,
    },
}

impl ReplyHeader {
    /// Length of the header that begins with these 4 bytes.
    ///
    /// # Errors
    /// They are no reply magic.
    pub fn len_of(magic: [u8; 4]) -> Result<usize, ProtoError> {
        match u32::from_be_bytes(magic) {
            consts::SIMPLE_REPLY_MAGIC => Ok(SIMPLE_LEN),
            consts::STRUCTURED_REPLY_MAGIC => Ok(STRUCTURED_LEN),
            other => Err(ProtoError::BadMagic { what: "reply", got: other.into() }),
        }
    }

    /// Read a whole header, of the length that [`Self::len_of`] told.
    ///
    /// # Errors
    /// The magic is unknown or the length is another.
    pub fn parse(header: &[u8]) -> Result<Self, ProtoError> {
        let mut fields = Fields::new("reply", header);
        let parsed = match fields.u32()? {
            consts::SIMPLE_REPLY_MAGIC => Self::Simple { error: fields.u32()?, cookie: fields.u64()? },
            consts::STRUCTURED_REPLY_MAGIC => Self::Structured {
                flags: fields.u16()?,
                kind: fields.u16()?,
                cookie: fields.u64()?,
                length: fields.u32()?,
            },
            other => {
                return Err(ProtoError::BadMagic { what: "reply", got: other.into() });
            }
        };
        fields.end()?;
        Ok(parsed)
    }
}

fn structured(kind: u16, cookie: u64, length: u32) -> [u8; STRUCTURED_LEN] {
    let mut out = [0; STRUCTURED_LEN];
    out[0..4].copy_from_slice(&consts::STRUCTURED_REPLY_MAGIC.to_be_bytes());
    out[4..6].copy_from_slice(&consts::CHUNK_FLAG_DONE.to_be_bytes());
    out[6..8].copy_from_slice(&kind.to_be_bytes());
    out[8..16].copy_from_slice(&cookie.to_be_bytes());
    out[16..20].copy_from_slice(&length.to_be_bytes());
    out
}

/// A simple reply; `error` is 0 or an NBD error number.
#[must_use]
pub fn simple_reply(cookie: u64, error: u32) -> [u8; SIMPLE_LEN] {
    let mut out = [0; SIMPLE_LEN];
    out[0..4].copy_from_slice(&consts::SIMPLE_REPLY_MAGIC.to_be_bytes());
    out[4..8].copy_from_slice(&error.to_be_bytes());
    out[8..16].copy_from_slice(&cookie.to_be_bytes());
    out
}

/// The only and last chunk of a read, up to where its data begin.
#[must_use]
pub fn read_chunk_header(cookie: u64, offset: u64, data_len: u32) -> [u8; STRUCTURED_LEN + 8] {
    let mut out = [0; STRUCTURED_LEN + 8];
    let head = structured(consts::CHUNK_OFFSET_DATA, cookie, data_len.saturating_add(8));
    out[..STRUCTURED_LEN].copy_from_slice(&head);
    out[STRUCTURED_LEN..].copy_from_slice(&offset.to_be_bytes());
    out
}

/// An error as the only and last chunk, without a message.
#[must_use]
pub fn error_chunk(cookie: u64, error: u32) -> [u8; STRUCTURED_LEN + 6] {
    let mut out = [0; STRUCTURED_LEN + 6];
    out[..STRUCTURED_LEN].copy_from_slice(&structured(consts::CHUNK_ERROR, cookie, 6));
    out[STRUCTURED_LEN..STRUCTURED_LEN + 4].copy_from_slice(&error.to_be_bytes());
    out
}
