//! Data integrity: stamped blocks are written and read back, and what is wrong with a target is named.
//!
//! [`stamp`], [`classify`], [`book`], [`ledger`], [`permutation`] and [`journal`] are pure: bytes and values in, values
//! out. The rest drives a [`strata_io::Queue`] with them.

pub mod book;
pub mod classify;
pub mod journal;
pub mod ledger;
pub mod permutation;
pub mod stamp;
