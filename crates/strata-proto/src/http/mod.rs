//! HTTP/1.1 with keep-alive: ranged reads of one resource for the load loop, and single requests beside it.
//!
//! One request at a time on a connection, nothing is sent again, and a response is believed in as far as it says what was
//! asked for. Memory is bounded whatever a server sends.

mod call;
mod head;
mod queue;
#[cfg(test)]
mod tests;
mod wire;

pub use call::{Answer, Session, request};
pub use head::{Body, Head, Span};
pub use queue::HttpQueue;
pub use wire::errno_of;

pub use crate::transport::OpenSpec;

/// Longest answer that is no data: an error's words, in bytes.
pub const WORDS_MOST: u64 = 64 * 1024;
