//! The basic header segment of a PDU, 48 bytes, and the numbers in it.

use crate::error::ProtoError;

/// Length of a header, in bytes.
pub(super) const BHS: usize = 48;
/// A tag that names nothing.
pub(super) const NO_TAG: u32 = u32::MAX;

pub(super) const IMMEDIATE: u8 = 0x40;
pub(super) const FINAL: u8 = 0x80;
/// Of a command: the target is to send data, or gets it; and how it is queued.
pub(super) const READ: u8 = 0x40;
pub(super) const WRITE: u8 = 0x20;
pub(super) const SIMPLE: u8 = 1;

pub(super) const NOP_OUT: u8 = 0x00;
pub(super) const COMMAND: u8 = 0x01;
pub(super) const LOGIN: u8 = 0x03;
pub(super) const DATA_OUT: u8 = 0x05;
pub(super) const LOGOUT: u8 = 0x06;
pub(super) const NOP_IN: u8 = 0x20;
pub(super) const RESPONSE: u8 = 0x21;
pub(super) const LOGIN_RESPONSE: u8 = 0x23;
pub(super) const DATA_IN: u8 = 0x25;
pub(super) const R2T: u8 = 0x31;
pub(super) const ASYNC: u8 = 0x32;
pub(super) const REJECT: u8 = 0x3F;

/// Where a header holds what; some places mean several things.
pub(super) const LUN_AT: usize = 8;
pub(super) const ITT_AT: usize = 16;
pub(super) const TTT_AT: usize = 20;
pub(super) const LENGTH_AT: usize = 20;
pub(super) const CMD_SN_AT: usize = 24;
pub(super) const STAT_SN_AT: usize = 24;
pub(super) const EXP_STAT_SN_AT: usize = 28;
pub(super) const EXP_CMD_SN_AT: usize = 28;
pub(super) const MAX_CMD_SN_AT: usize = 32;
pub(super) const CDB_AT: usize = 32;
pub(super) const DATA_SN_AT: usize = 36;
pub(super) const OFFSET_AT: usize = 40;
pub(super) const RESIDUAL_AT: usize = 44;

/// One header.
#[derive(Clone, Copy, Debug)]
pub struct Bhs(pub(super) [u8; BHS]);

impl AsRef<[u8]> for Bhs {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Bhs {
    pub(super) fn new(opcode: u8, flags: u8) -> Self {
        let mut bytes = [0; BHS];
        (bytes[0], bytes[1]) = (opcode, flags);
        Self(bytes)
    }

    /// Read a header as a target sends it.
    ///
    /// # Errors
    /// It is none, or has additional header segments, which no answer of ours has.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ProtoError> {
        let bytes = *bytes.first_chunk().ok_or(ProtoError::BadLength { what: "PDU" })?;
        if bytes[4] != 0 {
            return Err(ProtoError::BadValue { what: "length of additional headers", got: bytes[4].into() });
        }
        Ok(Self(bytes))
    }

    pub(super) fn opcode(&self) -> u8 {
        self.0[0] & 0x3F
    }

    pub(super) fn flags(&self) -> u8 {
        self.0[1]
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.0[1] & flag != 0
    }

    pub(super) fn u32(&self, at: usize) -> u32 {
        let word = self.0.get(at..at + 4).and_then(|word| word.try_into().ok());
        word.map_or(0, u32::from_be_bytes) // places are the constants above, all inside
    }

    pub(super) fn with(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_be_bytes());
        self
    }

    pub(super) fn bytes(mut self, at: usize, value: &[u8]) -> Self {
        self.0[at..at + value.len()].copy_from_slice(value);
        self
    }

    /// Bytes of data behind the header, without what fills them up.
    pub(super) fn data_len(&self) -> u32 {
        self.u32(4) & 0x00FF_FFFF
    }

    pub(super) fn with_data_len(self, len: u32) -> Self {
        self.with(4, len & 0x00FF_FFFF)
    }
}

/// Command numbers: the next one, and the last one the target takes now. They wrap around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) next: u32,
    pub(super) last: u32,
}

impl Window {
    pub(super) fn is_open(&self) -> bool {
        self.last.wrapping_sub(self.next) < 1 << 31
    }

    /// What a PDU of the target says of it; one that came late says nothing new.
    pub(super) fn told(&mut self, pdu: &Bhs) {
        let (expected, last) = (pdu.u32(EXP_CMD_SN_AT), pdu.u32(MAX_CMD_SN_AT));
        let sound = last.wrapping_sub(expected.wrapping_sub(1)) < 1 << 31;
        if sound && last.wrapping_sub(self.last) < 1 << 31 {
            self.last = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_wraps_and_never_shrinks() {
        let told =
            |expected, last| Bhs::new(RESPONSE, 0).with(EXP_CMD_SN_AT, expected).with(MAX_CMD_SN_AT, last);
        let mut window = Window { next: u32::MAX, last: u32::MAX };
        assert!(window.is_open());
        window.next = window.next.wrapping_add(1);
        assert!(!window.is_open(), "0 comes after the last number");
        window.told(&told(0, 3));
        assert!(window.is_open());
        assert_eq!(window.last, 3);
        window.told(&told(0, 1));
        window.told(&told(9, 7)); // a closed window of which an older PDU spoke
        assert_eq!(window.last, 3);
    }
}
