//! Which I/O comes next: chance, block lists, order, length, direction, target and flushes. Pure: no clock, no I/O.
#![forbid(unsafe_code)]

mod access;
mod blocks;
mod data;
mod flush;
mod io;
mod mix;
mod order;
mod pattern;
mod permutation;
mod rng;
mod sizes;
mod source;
mod stamp;
mod targets;
mod weighted;

pub use access::{AHEAD, Access};
pub use blocks::{BlockMap, Cut, Segment};
pub use data::{DataGenerator, DataReduction, UNIT};
pub use flush::Flush;
pub use io::{Io, Op};
pub use mix::Mix;
pub use order::{Order, Span, Stride, Zone};
pub use pattern::Pattern;
pub use permutation::Permutation;
pub use rng::Rng;
pub use sizes::{Size, Sizes};
pub use source::Source;
pub use stamp::{STAMP_EVERY, Stamper, fill_incompressible};
pub use targets::{Area, Distribution};
