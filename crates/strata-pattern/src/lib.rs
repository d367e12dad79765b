//! Which I/O comes next: chance, block lists, sequence and mix. Pure: no clock, no I/O.
#![forbid(unsafe_code)]

mod access;
mod blocks;
mod io;
mod mix;
mod pattern;
mod rng;
mod source;
mod stamp;

pub use access::{AHEAD, Access};
pub use blocks::{BlockMap, Segment};
pub use io::{Io, Op};
pub use mix::Mix;
pub use pattern::{Order, Pattern};
pub use rng::Rng;
pub use source::Source;
pub use stamp::{STAMP_EVERY, Stamper, fill_incompressible};
