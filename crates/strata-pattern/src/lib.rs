//! Which I/O comes next: chance, block lists, sequence and mix. Pure: no clock, no I/O.
#![forbid(unsafe_code)]

mod access;
mod blocks;
mod rng;
mod stamp;

pub use access::{Access, Mix, Order};
pub use blocks::{BlockMap, Segment};
pub use rng::Rng;
pub use stamp::{STAMP_EVERY, Stamper, fill_incompressible};
