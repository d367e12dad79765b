//! What the clients share: requests in slots, connections that are polled, one wait for all of them.
//!
//! A protocol is a [`Wire`]: what goes out for an I/O, and a machine that says what it wants to read next. It does no
//! I/O and looks at no clock.

mod buffers;
mod link;
mod out;
mod queue;
mod slots;
#[cfg(test)]
pub(crate) mod stream;
mod wire;

pub(crate) use out::Out;
pub use queue::OpenSpec;
pub(crate) use queue::Transport;
pub(crate) use slots::{OfLink, SHORT_DEPTH, short_name};
pub use wire::Want;
pub(crate) use wire::{Answer, Ask, Done, Wire};

/// Longest payload of one read or write, in bytes.
pub const MAX_PAYLOAD: u32 = 32 * 1024 * 1024;
