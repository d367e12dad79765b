//! A shuffled order of n things without a list of them.

use crate::rng::splitmix;

const ROUNDS: usize = 4;

/// A bijection of `0..n` that looks like chance, in constant memory.
///
/// Numbers of as many bits as n needs are multiplied by an odd number and folded onto themselves, a few times over;
/// each step can be undone, so no two meet. What lands at or beyond n is sent round again ("cycle walking", Black
/// and Rogaway, "Ciphers with arbitrary finite domains", 2002): below two rounds on average.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    n: u64,
    mask: u64,
    fold: u32,
    keys: [(u64, u64); ROUNDS],
}

impl Permutation {
    /// The permutation number `seed` of `0..n`; n must not be 0.
    #[must_use]
    pub fn new(n: u64, seed: u64) -> Self {
        let bits = u64::BITS - (n - 1).leading_zeros();
        let key = |i: usize| {
            let spread = |k: usize| splitmix(seed.wrapping_add(splitmix(k as u64 + 1)));
            (spread(2 * i) | 1, spread(2 * i + 1))
        };
        Self {
            n,
            mask: if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) },
            fold: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(key),
        }
    }

    /// Where number `i` (below n) goes.
    #[inline]
    #[must_use]
    pub fn at(&self, i: u64) -> u64 {
        debug_assert!(i < self.n);
        let mut x = i;
        loop {
            for (odd, plus) in self.keys {
                x = x.wrapping_mul(odd).wrapping_add(plus) & self.mask;
                x ^= x >> self.fold;
            }
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn each_number_once(n in 1u64..3000, seed: u64) {
            let permutation = Permutation::new(n, seed);
            let seen: HashSet<u64> = (0..n).map(|i| permutation.at(i)).collect();
            prop_assert_eq!(seen.len() as u64, n);
            prop_assert!(seen.iter().all(|&x| x < n));
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        // The distance of what follows each other, in 16 classes of the circle: as even as chance would have it.
        for (n, seed) in [(1u64 << 16, 1), (100_003, 2), (99_991, 3)] {
            let permutation = Permutation::new(n, seed);
            let mut seen = [0u64; 16];
            for i in 0..n - 1 {
                let distance = (permutation.at(i + 1) + n - permutation.at(i)) % n;
                seen[(u128::from(distance) * 16 / u128::from(n)) as usize] += 1;
            }
            let expected = (n - 1) as f64 / 16.0;
            let chi2: f64 = seen.iter().map(|&s| (s as f64 - expected).powi(2) / expected).sum();
            // 15 degrees of freedom: 44 is exceeded by chance once in 10 000 times.
            assert!(chi2 < 44.0, "{n}: {chi2}");
        }
    }

    #[test]
    fn seeds_give_other_orders() {
        let order = |seed| (0..1000).map(|i| Permutation::new(1000, seed).at(i)).collect::<Vec<_>>();
        assert_ne!(order(1), order(2));
        let same = order(1).iter().zip(order(2)).filter(|(a, b)| **a == *b).count();
        assert!(same < 10, "{same}");
        assert_eq!(Permutation::new(1, 9).at(0), 0);
    }
}
