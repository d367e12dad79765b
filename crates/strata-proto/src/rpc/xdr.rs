//! XDR: big-endian words, and bytes filled up to a multiple of four.

use crate::error::ProtoError;
use crate::fields::Fields;

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Xdr(pub(crate) Vec<u8>);

impl Xdr {
    pub(crate) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(crate) fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// A length, the bytes, and what fills them up.
    pub(crate) fn opaque(mut self, bytes: &[u8]) -> Self {
        self = self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX)); // names and handles: far below
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }
}

impl<'a> Fields<'a> {
    /// Bytes with their length before them, at most `limit`.
    pub(crate) fn opaque(&mut self, what: &'static str, limit: u32) -> Result<&'a [u8], ProtoError> {
        let len = self.u32()?;
        ProtoError::within(what, len.into(), limit.into())?;
        let bytes = self.take(len as usize)?;
        self.take((len.wrapping_neg() & 3) as usize)?;
        Ok(bytes)
    }
}
