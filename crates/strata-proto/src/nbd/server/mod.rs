//! `strata target`: an NBD server whose wire and medium can be shaped.
//!
//! One thread accepts; each connection has a thread that reads and one that writes late replies;
//! one pool of `service_threads` does the I/O of all connections. A request passes
//! wire in → cap → service → wire out, each a point on an absolute time line ([`timeline`]), so
//! that a late wake-up of a thread never lowers the rate that was asked for.

mod accept;
mod admission;
mod backing;
mod buffers;
mod clock;
mod config;
mod conn;
mod delay_queue;
mod faults;
mod handshake;
mod pace;
mod peers;
mod place;
mod reader;
mod service;
mod shaping;
mod signals;
mod stats;
pub mod timeline;

pub use accept::{Endpoint, Server};
pub use config::{BackingConfig, Config, Listen, ShapingConfig};
pub use faults::{FaultConfig, FaultKind};
pub use signals::StopOnSignals;
