//! Big-endian fields out of a slice, never beyond its end.

use crate::error::ProtoError;

/// What is left of a message while its fields are taken off the front.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Fields<'a> {
    /// Fields of the message called `what` in errors.
    pub(crate) fn new(what: &'static str, rest: &'a [u8]) -> Self {
        Self { rest, what }
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], ProtoError> {
        let (head, rest) =
            self.rest.split_at_checked(len).ok_or(ProtoError::BadLength { what: self.what })?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtoError> {
        let what = self.what;
        self.take(N)?.try_into().map_err(|_| ProtoError::BadLength { what })
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ProtoError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ProtoError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, ProtoError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// `len` bytes that are there where the word before them is not 0, and interest nobody.
    pub(crate) fn pass_optional(&mut self, len: usize) -> Result<(), ProtoError> {
        if self.u32()? != 0 {
            self.take(len)?;
        }
        Ok(())
    }

    /// Nothing may be left.
    pub(crate) fn end(self) -> Result<(), ProtoError> {
        if self.rest.is_empty() { Ok(()) } else { Err(ProtoError::BadLength { what: self.what }) }
    }
}
