//! What is done to every message: nothing, a signature, or encryption.

use std::io;

use smb2::crypto::encryption::{Cipher, decrypt_message, encrypt_message};
use smb2::crypto::signing::{SigningAlgorithm, sign_message, verify_signature};

use crate::frame::{HEADER, PREFIX, prefix};

/// Bytes of the header before an encrypted message.
const TRANSFORM: usize = 52;
const TRANSFORM_ID: &[u8] = b"\xfdSMB";

/// The key of a channel's signatures. Shows nothing of it.
#[derive(Clone)]
pub(crate) struct Signer {
    pub(crate) key: Vec<u8>,
    pub(crate) algorithm: SigningAlgorithm,
}

/// The keys of a session's encryption. Shows nothing of them.
#[derive(Clone)]
pub(crate) struct Sealer {
    pub(crate) encrypt: Vec<u8>,
    pub(crate) decrypt: Vec<u8>,
    pub(crate) cipher: Cipher,
    pub(crate) session: u64,
    /// Channels share the keys: the number keeps their nonces apart.
    pub(crate) channel: u8,
    pub(crate) sent: u64,
}

/// How one connection protects its messages.
#[derive(Clone)]
pub(crate) enum Guard {
    Plain,
    Sign(Signer),
    Seal(Sealer),
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Sign(_) => "Sign",
            Self::Seal(_) => "Seal",
        })
    }
}

impl Guard {
    /// Whether messages go as they are.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Protect `wire`, which is a prefix and one message with the id `id`.
    ///
    /// # Errors
    /// The message cannot be protected: a bug, or a key of the wrong length.
    pub(crate) fn close(&mut self, wire: Vec<u8>, id: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain => Ok(wire),
            Self::Sign(signer) => signer.sign(wire, id),
            Self::Seal(sealer) => sealer.seal(&wire),
        }
    }

    /// The messages inside what came, checked. `message` is without its prefix.
    ///
    /// # Errors
    /// `InvalidData`: a wrong or missing signature, a message that cannot be decrypted, or plain where it must not be.
    pub(crate) fn open<'a>(&self, message: &'a [u8], room: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        match self {
            Self::Plain => Ok(message),
            Self::Sign(signer) => {
                // A notice that the answer comes later is not signed.
                if !is_pending(message) {
                    signer.verify(message)?;
                }
                Ok(message)
            }
            Self::Seal(sealer) => {
                *room = sealer.unseal(message)?;
                Ok(room)
            }
        }
    }
}

impl Signer {
    pub(crate) fn sign(&self, mut wire: Vec<u8>, id: u64) -> io::Result<Vec<u8>> {
        let message = wire.get_mut(PREFIX..).unwrap_or_default();
        sign_message(message, &self.key, self.algorithm, id, false).map_err(io::Error::other)?;
        Ok(wire)
    }

    pub(crate) fn verify(&self, message: &[u8]) -> io::Result<()> {
        let id = message.get(24..32).and_then(|id| id.try_into().ok()).map(u64::from_le_bytes);
        let id = id.ok_or_else(|| invalid("a message shorter than its header"))?;
        verify_signature(message, &self.key, self.algorithm, id, false)
            .map_err(|_| invalid("a reply without a valid signature"))
    }
}

impl Sealer {
    fn seal(&mut self, wire: &[u8]) -> io::Result<Vec<u8>> {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&self.sent.to_le_bytes());
        nonce[8] = self.channel;
        self.sent += 1;
        let plain = wire.get(PREFIX..).unwrap_or_default();
        let (header, body) = encrypt_message(plain, &self.encrypt, self.cipher, &nonce, self.session)
            .map_err(io::Error::other)?;
        let mut out = Vec::with_capacity(PREFIX + header.len() + body.len());
        out.extend(prefix(header.len() + body.len()));
        out.extend(header);
        out.extend(body);
        Ok(out)
    }

    fn unseal(&self, message: &[u8]) -> io::Result<Vec<u8>> {
        let Some((header, body)) = message.split_at_checked(TRANSFORM) else {
            return Err(invalid("a reply that is not encrypted"));
        };
        if !header.starts_with(TRANSFORM_ID) {
            return Err(invalid("a reply that is not encrypted"));
        }
        decrypt_message(header, body, &self.decrypt, self.cipher)
            .map_err(|_| invalid("a reply that cannot be decrypted"))
    }
}

/// Whether it says "later" (asynchronous, `STATUS_PENDING`).
fn is_pending(message: &[u8]) -> bool {
    message.len() >= HEADER && message[8..12] == 0x103_u32.to_le_bytes() && message[16] & 2 != 0
}

pub(crate) fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Ask, Frame, Handle};

    fn wire(id: u64) -> Vec<u8> {
        let handle = Handle { session: 5, tree: 1, file: smb2::types::FileId { persistent: 1, volatile: 2 } };
        Frame::new(Ask::Flush, &handle, id, 1, crate::frame::SIGNED).bytes().to_vec()
    }

    fn sealer(channel: u8) -> Sealer {
        let key = vec![7; 16];
        Sealer { encrypt: key.clone(), decrypt: key, cipher: Cipher::Aes128Gcm, session: 5, channel, sent: 0 }
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let signer = Signer { key: vec![9; 16], algorithm: SigningAlgorithm::AesCmac };
        let mut signed = signer.sign(wire(3), 3).expect("signed");
        signer.verify(&signed[PREFIX..]).expect("as it was signed");
        signed[PREFIX + HEADER] ^= 1;
        let error = Guard::Sign(signer).open(&signed[PREFIX..], &mut vec![]).expect_err("changed");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn what_is_sealed_is_opened_and_two_channels_never_share_a_nonce() {
        let mut seen = std::collections::HashSet::new();
        for channel in 0..2 {
            let mut guard = Guard::Seal(sealer(channel));
            for id in 0..3 {
                let sealed = guard.close(wire(id), id).expect("sealed");
                let mut room = vec![];
                assert_eq!(guard.open(&sealed[PREFIX..], &mut room).expect("opened"), &wire(id)[PREFIX..]);
                assert!(seen.insert(sealed[PREFIX + 20..PREFIX + 36].to_vec()), "a nonce twice");
            }
        }
    }

    #[test]
    fn plain_where_it_must_be_sealed_is_refused() {
        let plain = wire(1);
        let guard = Guard::Seal(sealer(0));
        for message in [&plain[PREFIX..], &plain[..10], &[]] {
            assert!(guard.open(message, &mut vec![]).is_err());
        }
    }
}
