//! What an export is, as both sides see it.

use super::consts;

/// Sizes in which an export wants to be addressed, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Offsets and lengths are multiples of this.
    pub minimum: u32,
    /// The size at which the export works best.
    pub preferred: u32,
    /// The longest payload.
    pub maximum: u32,
}

/// An export: its name, size and transmission flags (`consts::TX_*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name; a client that asks for the empty name gets it too.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Transmission flags.
    pub flags: u16,
    /// Block sizes, if the server told them.
    pub blocks: Option<BlockSizes>,
}

impl Export {
    /// Whether transmission flag `flag` is set.
    #[must_use]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// The names of the transmission flags that are set, in bit order, in lower case.
    #[must_use]
    pub fn flag_names(&self) -> Vec<&'static str> {
        const NAMES: [(u16, &str); 12] = [
            (consts::TX_HAS_FLAGS, "has_flags"),
            (consts::TX_READ_ONLY, "read_only"),
            (consts::TX_SEND_FLUSH, "send_flush"),
            (consts::TX_SEND_FUA, "send_fua"),
            (consts::TX_ROTATIONAL, "rotational"),
            (consts::TX_SEND_TRIM, "send_trim"),
            (consts::TX_SEND_WRITE_ZEROES, "send_write_zeroes"),
            (consts::TX_SEND_DF, "send_df"),
            (consts::TX_CAN_MULTI_CONN, "can_multi_conn"),
            (consts::TX_SEND_RESIZE, "send_resize"),
            (consts::TX_SEND_CACHE, "send_cache"),
            (consts::TX_SEND_FAST_ZERO, "send_fast_zero"),
        ];
        NAMES.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, name)| *name).collect()
    }
}
