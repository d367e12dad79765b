//! The wire format of NBD (fixed newstyle), as values. No I/O, no clock, no `unsafe`.
//!
//! Everything that comes from a peer is bounded before it is used: an option is at most
//! [`MAX_OPTION`], a payload at most [`MAX_PAYLOAD`]; longer is an error value. Nothing here
//! panics or allocates by a length a peer chose.
#![forbid(unsafe_code)]

pub mod client_handshake;
pub mod consts;
mod export;
mod replies;
mod reply;
mod request;
mod server_handshake;
mod server_options;

pub use export::{BlockSizes, Export};
pub use replies::{Done, Lookup, Pending, ReplyMachine};
pub use reply::{ReplyHeader, SIMPLE_LEN, STRUCTURED_LEN, error_chunk, read_chunk_header, simple_reply};
pub use request::{Command, REQUEST_LEN, Request};
pub use server_handshake::{Progress, ServerHandshake};

pub use crate::error::ProtoError;
pub use crate::transport::{MAX_PAYLOAD, Want};

/// Longest option data accepted, in bytes, in either direction.
pub const MAX_OPTION: u32 = 64 * 1024;
/// Longest export name, in bytes (the protocol's own bound for strings).
pub const MAX_NAME: usize = 4096;
