//! I/O backends behind one small trait. No clock lives here: the engine stamps.

pub mod queue;

pub use queue::{Completion, Op, Queue};
