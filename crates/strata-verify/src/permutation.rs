//! An order in which every block comes exactly once, without a list of them.

use strata_pattern::Rng;

const ROUNDS: usize = 4;

/// A random order of `0..n`, fixed by its seed; or the natural one.
///
/// A Feistel network over the next even number of bits; what falls beyond `n` is sent through again (cycle walking),
/// less than four times on average.
#[derive(Clone, Debug)]
pub struct Permutation {
    n: u64,
    half_bits: u32,
    /// None: in order.
    keys: Option<[u64; ROUNDS]>,
}

impl Permutation {
    /// `0, 1, 2, …`
    #[must_use]
    pub fn sequential(n: u64) -> Self {
        Self { n, half_bits: 0, keys: None }
    }

    /// A random order.
    #[must_use]
    pub fn random(n: u64, seed: u64) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        let mut rng = Rng::new(seed, n);
        Self { n, half_bits: bits.div_ceil(2).max(1), keys: Some(std::array::from_fn(|_| rng.bits())) }
    }

    /// What comes at place `index` (below `n`).
    #[must_use]
    pub fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.n);
        let Some(keys) = &self.keys else { return index };
        let mut value = index;
        loop {
            value = self.shuffle(value, keys);
            if value < self.n {
                return value;
            }
        }
    }

    fn shuffle(&self, value: u64, keys: &[u64; ROUNDS]) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in keys {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (left, right) = (right, left ^ ((mixed ^ (mixed >> 32)) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_index_comes_once(n in 1u64..5_000, seed: u64) {
            let order = Permutation::random(n, seed);
            let mut seen = vec![false; n as usize];
            for index in 0..n {
                let place = &mut seen[order.at(index) as usize];
                prop_assert!(!*place);
                *place = true;
            }
        }
    }

    #[test]
    fn it_is_mixed_and_repeats_with_its_seed() {
        let (a, b) = (Permutation::random(4096, 1), Permutation::random(4096, 2));
        let order = |p: &Permutation| (0..4096).map(|i| p.at(i)).collect::<Vec<_>>();
        assert_eq!(order(&a), order(&Permutation::random(4096, 1)));
        assert_ne!(order(&a), order(&b));
        let steps = order(&a).windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(steps < 20, "{steps} neighbours stayed together");
        assert_eq!(order(&Permutation::sequential(4096)), (0..4096).collect::<Vec<_>>());
        assert!(Permutation::random(u64::MAX, 3).at(5) < u64::MAX);
    }
}
