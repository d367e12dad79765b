//! What a peer got wrong.

/// The peer broke the protocol; the connection cannot be used further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtoError {
    /// A magic number was another one.
    #[error("{what}: the magic number is {got:#x}: the peer does not speak NBD here")]
    BadMagic {
        /// Which message.
        what: &'static str,
        /// What came instead.
        got: u64,
    },
    /// A length goes beyond the bound of this codec.
    #[error("{what}: {got} bytes is more than the {limit} accepted")]
    TooLong {
        /// Which field.
        what: &'static str,
        /// The length asked for, in bytes.
        got: u64,
        /// The bound, in bytes.
        limit: u64,
    },
    /// A message ends before its fields do, or goes on after them.
    #[error("{what}: its length does not fit its fields")]
    BadLength {
        /// Which message.
        what: &'static str,
    },
    /// A field has a value that is not allowed there.
    #[error("{what}: the value {got:#x} is not allowed")]
    BadValue {
        /// Which field.
        what: &'static str,
        /// The value.
        got: u64,
    },
    /// A reply names a request that is not in flight.
    #[error("reply: cookie {0:#x} belongs to no request in flight")]
    UnknownCookie(u64),
    /// One message after the other that carries nothing.
    #[error("{what} without end in place of an answer")]
    Endless {
        /// What came.
        what: &'static str,
    },
    /// What is wrong with an HTTP response.
    #[error("HTTP answer: {0}")]
    Http(&'static str),
    /// The peer speaks only the oldstyle handshake.
    #[error("greeting: the server speaks the oldstyle handshake only; start it with a newstyle export")]
    Oldstyle,
}

impl ProtoError {
    /// [`Self::TooLong`], unless `got` is within the bound.
    #[inline]
    pub(crate) fn within(what: &'static str, got: u64, limit: u64) -> Result<(), Self> {
        if got > limit { Err(Self::TooLong { what, got, limit }) } else { Ok(()) }
    }
}

impl From<ProtoError> for std::io::Error {
    fn from(error: ProtoError) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}
