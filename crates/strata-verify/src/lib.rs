//! Data integrity: stamped blocks are written and read back, and what is wrong with a target is named.
//!
//! [`stamp`], [`classify`], [`block_states`], [`fault_log`] and [`journal`] are pure: bytes and values in, values
//! out. The rest drives a [`strata_io::Queue`] with them. The only clock here bounds waits; nothing is measured.

pub mod block_states;
pub mod classify;
mod error;
pub mod fault_log;
pub mod job;
pub mod journal;
mod journal_file;
mod remote;
mod run;
mod shared;
pub mod stamp;
mod tally;
mod targets;
mod worker;

pub use error::{Error, Result};
pub use job::Job;
pub use journal_file::look;
pub use run::{Run, start};
