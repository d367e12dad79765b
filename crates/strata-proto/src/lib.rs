//! The NBD protocol: a codec without I/O, a shaped server and a client queue.
//!
//! [`codec`] knows bytes only. [`server`] is `strata target`: it may look at a clock, because
//! shaping a wire is its purpose. [`client`] carries the load loop's I/Os over one or more
//! connections and never looks at a clock to measure (the engine stamps).

pub mod client;
pub mod codec;
mod lock;
mod named;
pub mod netns;
pub mod server;
mod sock;

pub use named::{errno, named, named_as};
