//! What a client says and hears before the transmission phase.

use super::{BlockSizes, Export, MAX_OPTION, ProtoError, consts};
use crate::fields::Fields;

/// Length of the server's greeting, in bytes.
pub const GREETING_LEN: usize = 18;
/// Length of an option reply's header, in bytes.
pub const OPTION_REPLY_LEN: usize = 20;

/// Read the greeting; the handshake flags of the server.
///
/// # Errors
/// It is no NBD server, or one that speaks oldstyle only.
pub fn parse_greeting(greeting: &[u8; GREETING_LEN]) -> Result<u16, ProtoError> {
    let mut fields = Fields::new("greeting", greeting);
    let magic = fields.u64()?;
    if magic != consts::NBDMAGIC {
        return Err(ProtoError::BadMagic { what: "greeting", got: magic });
    }
    match fields.u64()? {
        consts::IHAVEOPT => fields.u16(),
        consts::OLDSTYLE_MAGIC => Err(ProtoError::Oldstyle),
        other => Err(ProtoError::BadMagic { what: "greeting", got: other }),
    }
}

/// One option with its data.
#[must_use]
pub fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(16 + data.len());
    out.extend(consts::IHAVEOPT.to_be_bytes());
    out.extend(number.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes()); // names are bounded by MAX_NAME before this
    out.extend(data);
    out
}

/// `INFO` or `GO` for the export `name`, asking for its block sizes.
#[must_use]
pub fn info_option(number: u32, name: &str) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name.as_bytes());
    data.extend(1_u16.to_be_bytes());
    data.extend(consts::INFO_BLOCK_SIZE.to_be_bytes());
    option(number, &data)
}

/// The head of one option reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionReply {
    /// The option that is answered.
    pub option: u32,
    /// `consts::REP_*`.
    pub kind: u32,
    /// Bytes that follow, at most [`MAX_OPTION`].
    pub length: u32,
}

impl OptionReply {
    /// Read a header.
    ///
    /// # Errors
    /// Wrong magic, or more data than [`MAX_OPTION`].
    pub fn parse(header: &[u8; OPTION_REPLY_LEN]) -> Result<Self, ProtoError> {
        let mut fields = Fields::new("option reply", header);
        let magic = fields.u64()?;
        if magic != consts::OPTION_REPLY_MAGIC {
            return Err(ProtoError::BadMagic { what: "option reply", got: magic });
        }
        let reply = Self { option: fields.u32()?, kind: fields.u32()?, length: fields.u32()? };
        ProtoError::within("option reply", reply.length.into(), MAX_OPTION.into())?;
        Ok(reply)
    }

    /// Whether it says no.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.kind & consts::REP_FLAG_ERROR != 0
    }
}

/// Take what an `NBD_REP_INFO` tells into `export`; kinds this client does not know are skipped.
///
/// # Errors
/// The item is too short or too long for its kind, or its block sizes are nonsense.
pub fn apply_info(body: &[u8], export: &mut Export) -> Result<(), ProtoError> {
    let mut fields = Fields::new("information reply", body);
    match fields.u16()? {
        consts::INFO_EXPORT => {
            export.size_bytes = fields.u64()?;
            export.flags = fields.u16()?;
        }
        consts::INFO_BLOCK_SIZE => {
            let blocks =
                BlockSizes { minimum: fields.u32()?, preferred: fields.u32()?, maximum: fields.u32()? };
            if blocks.minimum == 0 || blocks.maximum < blocks.minimum {
                return Err(ProtoError::BadValue { what: "block sizes", got: blocks.minimum.into() });
            }
            export.blocks = Some(blocks);
        }
        _ => return Ok(()),
    }
    fields.end()
}

/// The name in an `NBD_REP_SERVER`; bytes that are no UTF-8 are replaced.
///
/// # Errors
/// Its length goes beyond the reply.
pub fn parse_server(body: &[u8]) -> Result<String, ProtoError> {
    let mut fields = Fields::new("list reply", body);
    let len = fields.u32()? as usize;
    Ok(String::from_utf8_lossy(fields.take(len)?).into_owned())
}

/// The answer to `EXPORT_NAME`, from servers that know no `GO`: size and flags.
///
/// # Errors
/// Never for 10 bytes.
pub fn parse_export_name(body: &[u8; 10], export: &mut Export) -> Result<(), ProtoError> {
    let mut fields = Fields::new("export reply", body);
    export.size_bytes = fields.u64()?;
    export.flags = fields.u16()?;
    fields.end()
}
