//! The head of a reply.

use crate::error::ProtoError;

/// What the bytes of a reply that have come so far amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// Nothing yet: so many bytes of it are needed.
    Need(usize),
    /// The call was carried out; its results begin at this byte.
    Accepted(usize),
    /// It was not, for a reason that this errno stands for.
    Refused(i32),
}

const REPLY: u32 = 1;
/// Longest verifier, in bytes (RFC 5531).
const MAX_VERIFIER: u32 = 400;

fn word(bytes: &[u8], at: usize) -> Result<u32, ProtoError> {
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    word.map(u32::from_be_bytes).ok_or(ProtoError::BadLength { what: "RPC reply" })
}

/// Look at a reply from its XID on.
///
/// # Errors
/// It is no reply.
pub(crate) fn header(bytes: &[u8]) -> Result<Header, ProtoError> {
    const LEAST: usize = 20; // the shortest one: refused for the credentials
    if bytes.len() < LEAST {
        return Ok(Header::Need(LEAST));
    }
    match word(bytes, 4)? {
        REPLY => {}
        other => return Err(ProtoError::BadValue { what: "RPC message type", got: other.into() }),
    }
    match (word(bytes, 8)?, word(bytes, 12)?) {
        (0, _) => {}
        // The other version of RPC, or credentials that are not accepted.
        (1, 0) => return Ok(Header::Refused(libc::EPROTONOSUPPORT)),
        (1, 1) => return Ok(Header::Refused(libc::EACCES)),
        (status, other) => {
            let got = u64::from(status) << 32 | u64::from(other);
            return Err(ProtoError::BadValue { what: "RPC reply status", got });
        }
    }
    let verifier = word(bytes, 16)?;
    ProtoError::within("RPC verifier", verifier.into(), MAX_VERIFIER.into())?;
    let at = LEAST + (verifier as usize).next_multiple_of(4);
    if bytes.len() < at + 4 {
        return Ok(Header::Need(at + 4));
    }
    match word(bytes, at)? {
        0 => Ok(Header::Accepted(at + 4)),
        // No such program, version or procedure.
        1..=3 => Ok(Header::Refused(libc::EOPNOTSUPP)),
        // The arguments were not understood; the server's own failure.
        4 => Ok(Header::Refused(libc::EPROTO)),
        5 => Ok(Header::Refused(libc::EIO)),
        other => Err(ProtoError::BadValue { what: "RPC accept status", got: other.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn every_way_a_call_can_end() {
        let accepted = |words: &[u32]| header(&reply(words)).expect("a reply");
        assert_eq!(accepted(&[7, 1, 0, 0, 0, 0]), Header::Accepted(24));
        assert_eq!(accepted(&[7, 1, 0, 0, 0]), Header::Need(24));
        assert_eq!(accepted(&[7, 1]), Header::Need(20));
        // A verifier of five bytes takes eight.
        assert_eq!(accepted(&[7, 1, 0, 6, 5, 0, 0]), Header::Need(32));
        assert_eq!(accepted(&[7, 1, 0, 6, 5, 0, 0, 0]), Header::Accepted(32));
        assert_eq!(accepted(&[7, 1, 0, 0, 0, 3]), Header::Refused(libc::EOPNOTSUPP));
        assert_eq!(accepted(&[7, 1, 1, 1, 1]), Header::Refused(libc::EACCES));
        for bad in [&[7, 0, 0, 0, 0, 0][..], &[7, 1, 2, 0, 0, 0], &[7, 1, 0, 0, 401, 0], &[7, 1, 0, 0, 0, 9]]
        {
            assert!(header(&reply(bad)).is_err(), "{bad:?}");
        }
    }
}
