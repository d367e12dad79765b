//! Storage protocols: NBD (a codec without I/O, a shaped server, a client queue), NFS version 3, iSCSI and ranged reads over
//! HTTP (client queues).
//!
//! [`nbd::codec`] knows NBD's bytes only. [`nbd::server`] is `strata target`: it may look at a clock, because
//! shaping a wire is its purpose. The clients [`nbd`], [`nfs`], [`iscsi`] and [`http`] carry the load loop's
//! I/Os over one or more connections and never look at a clock to measure (the engine stamps).

pub mod address;
mod error;
mod fields;
pub mod http;
pub mod iscsi;
pub mod line;
pub mod lock;
mod named;
pub mod nbd;
pub mod netns;
pub mod nfs;
pub mod polling;
mod rpc;
mod sock;
#[cfg(test)]
#[path = "../tests/storm/mod.rs"]
mod storm;
pub mod transport;

pub use named::{errno, named, named_as};
pub use sock::{Socket, received};
