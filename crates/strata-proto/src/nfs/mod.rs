//! A client of NFS version 3 (RFC 1813): one file, its management, and the load loop's I/Os on it.
//!
//! Calls are matched to their replies by XID, so a connection carries as many as there are slots. Nothing is cached and
//! nothing is sent again: over TCP a lost connection ends the queue.

mod consts;
mod file;
mod manage;
mod queue;
mod replies;
mod share;
#[cfg(test)]
mod tests;
mod uri;
mod verifier;
mod wire;

pub use file::NfsFile;
pub use manage::{create, probe, read_range, remove, write_range};
pub use queue::NfsQueue;
pub use uri::Uri;

pub use crate::transport::OpenSpec;
