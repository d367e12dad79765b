//! Parts of a laboratory: a disk that behaves as told, and a hop that delays and loses frames.
//!
//! [`model`] is pure arithmetic on a virtual clock; [`disk`] serves a file whose I/Os take as long as the model
//! says; [`hop`] stands between two network interfaces. Each runs in a process of its own until SIGTERM.

pub mod disk;
pub mod hop;
pub mod model;
mod words;
