//! The handshake as a state machine of the server: bytes in, bytes out, no I/O.

use super::server_options::{Outcome, answer, refuse};
use super::{Export, MAX_OPTION, ProtoError, consts};
use crate::fields::Fields;

/// Length of an option's header, in bytes.
const OPTION_HEADER: usize = 16;
/// Options one client may send before it has to choose; a probe sends one per round.
const MAX_OPTIONS: u32 = 65_536;

/// How far the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Feed more bytes after those that were consumed.
    NeedMore,
    /// One message was consumed; there may be another in the input.
    Advanced,
    /// The transmission phase begins with the byte after those consumed.
    Transmit {
        /// Structured replies were agreed.
        structured: bool,
        /// Transmission flags that were announced.
        flags: u16,
    },
    /// Send what was appended and close.
    Close,
}

/// One client's handshake.
#[derive(Debug)]
pub struct ServerHandshake {
    export: Export,
    greeted: bool,
    zeroes: bool,
    structured: bool,
    options: u32,
}

impl ServerHandshake {
    /// A handshake for `export`, and the greeting that opens it.
    #[must_use]
    pub fn new(export: Export, greeting: &mut Vec<u8>) -> Self {
        greeting.extend(consts::NBDMAGIC.to_be_bytes());
        greeting.extend(consts::IHAVEOPT.to_be_bytes());
        greeting.extend((consts::FLAG_FIXED_NEWSTYLE | consts::FLAG_NO_ZEROES).to_be_bytes());
        Self { export, greeted: false, zeroes: true, structured: false, options: 0 }
    }

    /// Eat at most one message from the front of `input`; replies are appended to `out`.
    /// Returns the bytes eaten (0 with [`Progress::NeedMore`]).
    ///
    /// # Errors
    /// The client does not speak the protocol; send what is in `out`, then close.
    pub fn advance(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress), ProtoError> {
        if !self.greeted {
            let Some(flags) = input.first_chunk::<4>() else {
                return Ok((0, Progress::NeedMore));
            };
            let flags = u32::from_be_bytes(*flags);
            let known = u32::from(consts::FLAG_FIXED_NEWSTYLE | consts::FLAG_NO_ZEROES);
            if flags & !known != 0 {
                return Err(ProtoError::BadValue { what: "client flags", got: flags.into() });
            }
            self.zeroes = flags & u32::from(consts::FLAG_NO_ZEROES) == 0;
            self.greeted = true;
            return Ok((4, Progress::Advanced));
        }
        let Some(header) = input.first_chunk::<OPTION_HEADER>() else {
            return Ok((0, Progress::NeedMore));
        };
        let mut fields = Fields::new("option", header);
        let magic = fields.u64()?;
        if magic != consts::IHAVEOPT {
            return Err(ProtoError::BadMagic { what: "option", got: magic });
        }
        let number = fields.u32()?;
        let length = fields.u32()?;
        if length > MAX_OPTION {
            refuse(out, number, consts::REP_ERR_TOO_BIG, "option data too long");
            return Err(ProtoError::TooLong {
                what: "option data",
                got: length.into(),
                limit: MAX_OPTION.into(),
            });
        }
        let end = OPTION_HEADER + length as usize;
        let Some(data) = input.get(OPTION_HEADER..end) else {
            return Ok((0, Progress::NeedMore));
        };
        self.options += 1;
        ProtoError::within("options of one client", self.options.into(), MAX_OPTIONS.into())?;
        let flags = self.flags();
        let progress = match answer(&self.export, flags, self.zeroes, number, data, out) {
            Outcome::GoOn => Progress::Advanced,
            Outcome::Structured => {
                self.structured = true;
                Progress::Advanced
            }
            Outcome::Transmit => Progress::Transmit { structured: self.structured, flags },
            Outcome::Close => Progress::Close,
        };
        Ok((end, progress))
    }

    /// "Don't fragment" means something only with structured replies.
    fn flags(&self) -> u16 {
        self.export.flags | if self.structured { consts::TX_SEND_DF } else { 0 }
    }
}
