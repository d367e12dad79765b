//! What a peer got wrong.

use std::fmt;

/// The peer broke the protocol; the connection cannot be used further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtoError {
    /// A magic number was another one.
    BadMagic {
        /// Which message.
        what: &'static str,
        /// What came instead.
        got: u64,
    },
    /// A length goes beyond the bound of this codec.
    TooLong {
        /// Which field.
        what: &'static str,
        /// The length asked for, in bytes.
        got: u64,
        /// The bound, in bytes.
        limit: u64,
    },
    /// A message ends before its fields do, or goes on after them.
    BadLength {
        /// Which message.
        what: &'static str,
    },
    /// A field has a value that is not allowed there.
    BadValue {
        /// Which field.
        what: &'static str,
        /// The value.
        got: u64,
    },
    /// A reply names a request that is not in flight.
    UnknownCookie(u64),
    /// One message after the other that carries nothing.
    Endless {
        /// What came.
        what: &'static str,
    },
    /// What is wrong with an HTTP response.
    Http(&'static str),
    /// The peer speaks only the oldstyle handshake.
    Oldstyle,
}

impl fmt::Display for ProtoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadMagic { what, got } => {
                write!(f, "{what}: the magic number is {got:#x}: the peer does not speak NBD here")
            }
            Self::TooLong { what, got, limit } => {
                write!(f, "{what}: {got} bytes is more than the {limit} accepted")
            }
            Self::BadLength { what } => write!(f, "{what}: its length does not fit its fields"),
            Self::BadValue { what, got } => write!(f, "{what}: the value {got:#x} is not allowed"),
            Self::UnknownCookie(cookie) => {
                write!(f, "reply: cookie {cookie:#x} belongs to no request in flight")
            }
            Self::Endless { what } => write!(f, "{what} without end in place of an answer"),
            Self::Http(why) => write!(f, "HTTP answer: {why}"),
            Self::Oldstyle => f.write_str(
                "greeting: the server speaks the oldstyle handshake only; start it with a newstyle export",
            ),
        }
    }
}

impl std::error::Error for ProtoError {}

impl From<ProtoError> for std::io::Error {
    fn from(error: ProtoError) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}
