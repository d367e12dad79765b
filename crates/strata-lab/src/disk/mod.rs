//! A directory with two files: `disk`, whose I/Os take as long as the model says, and `ctl`.
//!
//! One thread takes requests from the kernel and asks the model; a second answers those that are not due yet.
//! A request that is due at once is answered by the first, without the second.

mod ctl;
mod files;
mod queue;
mod service;
mod store;

pub use service::{Config, run};
