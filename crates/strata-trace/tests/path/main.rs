//! A request is followed through every layer, and what could belong to two is told of none.

#![allow(clippy::unwrap_used)]

mod calls;
mod clocks;
mod exchanges;
mod made;
mod sums;
