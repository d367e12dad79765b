//! The model on a virtual clock: what a closed loop of a given depth would measure.

mod blocks;
mod caches;
mod caps;
mod hard_disk;
mod loops;
mod servers;
mod words;

use super::{Model, Op, Params};

const SIZE: u64 = 1 << 30;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

fn model(words: &str) -> Model {
    Model::new(SIZE, Params::default().with(words).unwrap()).unwrap()
}
