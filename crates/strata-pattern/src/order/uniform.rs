//! Every block equally likely each time.

use super::Pick;
use crate::blocks::BlockMap;
use crate::io::Io;
use crate::rng::Rng;

/// Draws with replacement.
pub(crate) struct Uniform(pub Rng);

impl Pick for Uniform {
    #[inline]
    fn pick(&mut self, map: &BlockMap, _len: u32) -> u64 {
        self.0.below(map.blocks())
    }

    fn place(&mut self, map: &BlockMap, ios: &mut [Io]) {
        let Ok(blocks) = u32::try_from(map.blocks()) else {
            return ios.iter_mut().for_each(|io| io.set_offset(map.offset(self.0.below(map.blocks()))));
        };
        // This is drawn for every random I/O of most workloads: one draw of 64 bits does for two of them.
        for pair in ios.chunks_mut(2) {
            let bits = self.0.bits();
            for (io, half) in pair.iter_mut().zip([bits as u32, (bits >> 32) as u32]) {
                io.set_offset(map.offset(self.0.narrow(half, blocks).into()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Segment;

    #[test]
    fn both_halves_of_a_draw_cover_evenly() {
        let map = BlockMap::new(&[Segment { start: 0, length: 7 * 512, target: 0 }], 512).expect("blocks");
        let mut uniform = Uniform(Rng::new(3, 1));
        let mut seen = [[0u32; 7]; 2];
        let mut ios = [Io::read(0, 512); 63];
        for _ in 0..2_000 {
            uniform.place(&map, &mut ios);
            ios.iter().enumerate().for_each(|(n, io)| seen[n % 2][(io.offset() / 512) as usize] += 1);
        }
        // 64,000 and 62,000 draws over 7 blocks: within five standard deviations of a binomial with p = 1/7.
        for (half, n) in seen.iter().zip([64_000u32, 62_000]) {
            assert!(half.iter().all(|&hits| hits.abs_diff(n / 7) < 450), "{seen:?}");
        }
    }
}
