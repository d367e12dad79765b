//! Parts of a laboratory: a disk that behaves as told, a directory without a page cache, and a hop that delays and
//! loses frames.
//!
//! [`model`] is pure arithmetic on a virtual clock; [`disk`] serves a file whose I/Os take as long as the model
//! says; [`direct`] shows files so that each I/O of a server reaches the medium; [`hop`] stands between two network interfaces. Each runs in a process of its own until SIGTERM.

mod about;
pub mod direct;
pub mod disk;
pub mod hop;
pub mod model;
mod mount;
mod served;
mod words;
