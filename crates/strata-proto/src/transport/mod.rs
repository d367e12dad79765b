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

pub use out::Out;
pub(crate) use queue::Transport;
pub use queue::{Connection, Connections, OpenSpec};
pub(crate) use slots::OfLink;
pub use slots::Slots;
pub(crate) use slots::short_name;
pub use wire::{Answer, Want};
pub(crate) use wire::{Ask, Done, Wire};

/// Longest payload of one read or write, in bytes.
pub const MAX_PAYLOAD: u32 = 32 * 1024 * 1024;
