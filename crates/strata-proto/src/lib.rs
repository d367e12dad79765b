//! Storage protocols: NBD (a codec without I/O, a shaped server, a client queue), NFS version 3 and iSCSI (client queues).
//!
//! [`codec`] knows NBD's bytes only. [`server`] is `strata target`: it may look at a clock, because
//! shaping a wire is its purpose. [`client`], [`nfs`] and [`iscsi`] carry the load loop's
//! I/Os over one or more connections and never look at a clock to measure (the engine stamps).

mod address;
mod carrier;
pub mod client;
pub mod codec;
pub mod iscsi;
pub mod line;
mod lock;
mod named;
pub mod netns;
pub mod nfs;
mod rpc;
pub mod server;
mod sock;
#[cfg(test)]
#[path = "../tests/storm/mod.rs"]
mod storm;
pub mod turns;

pub use named::{errno, named, named_as};
pub use sock::Socket;
