//! NBD: its [`codec`] without I/O, the [`server`] of `strata target`, and a client that looks at an export and carries the
//! load loop's I/Os.

pub mod codec;
pub mod server;

mod dial;
mod probe;
mod queue;
mod read;
mod uri;
mod wire;

pub use probe::{Probe, probe};
pub use queue::NbdQueue;
pub use read::read_range;
pub use uri::Uri;

pub use crate::transport::OpenSpec;
