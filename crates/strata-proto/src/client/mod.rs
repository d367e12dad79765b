//! A client of NBD servers: looking at an export, and carrying the load loop's I/Os.

mod dial;
mod probe;
mod queue;
mod read;
mod uri;
mod wire;

pub use probe::{Probe, probe};
pub use queue::{NbdQueue, OpenSpec};
pub use read::read_range;
pub use uri::{Address, Uri};
