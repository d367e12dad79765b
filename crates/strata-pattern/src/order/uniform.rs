//! Every block equally likely each time.

use super::Pick;
use crate::blocks::BlockMap;
use crate::rng::Rng;

/// Draws with replacement.
pub(crate) struct Uniform(pub Rng);

impl Pick for Uniform {
    #[inline]
    fn pick(&mut self, map: &BlockMap, _len: u32) -> u64 {
        self.0.below(map.blocks())
    }
}
