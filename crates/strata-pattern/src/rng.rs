//! xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021).

/// A generator of 64 random bits at a time; not for secrets.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

/// Step and mix of SplitMix64: a bijection of a counter, used to spread seeds.
pub(crate) fn splitmix(counter: u64) -> u64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The generator of stream `stream` of `seed`; different streams are unrelated.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let base = splitmix(seed ^ splitmix(stream.wrapping_add(1)));
        // Four different counters under a bijection: never all zero.
        Self { state: std::array::from_fn(|i| splitmix(base.wrapping_add(i as u64 + 1))) }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// A number below `bound` (which must not be 0), each equally likely: Lemire's multiplication ("Fast
    /// random integer generation in an interval", 2019), with the rejection that makes it exact.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        let mut wide = u128::from(self.bits()) * u128::from(bound);
        if (wide as u64) < bound {
            let reject_below = bound.wrapping_neg() % bound;
            while (wide as u64) < reject_below {
                wide = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (wide >> 64) as u64
    }

    /// 32 random bits made a number below `bound` (which must not be 0), each equally likely: as [`Self::below`], and
    /// drawn anew in the rare case that these bits would favour some.
    #[inline]
    pub(crate) fn narrow(&mut self, bits: u32, bound: u32) -> u32 {
        let wide = u64::from(bits) * u64::from(bound);
        if (wide as u32) < bound { self.narrow_again(wide, bound) } else { (wide >> 32) as u32 }
    }

    #[cold]
    fn narrow_again(&mut self, wide: u64, bound: u32) -> u32 {
        let reject_below = bound.wrapping_neg() % bound;
        if (wide as u32) < reject_below { self.below(bound.into()) as u32 } else { (wide >> 32) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs from state 1, 2, 3, 4, worked out by hand from the published recurrence.
    #[test]
    fn follows_the_recurrence() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        assert_eq!(rng.bits(), (5u64 << 23) + 1);
        assert_eq!(rng.state, [7, 0, 0x4_0002, 6 << 45]);
    }

    #[test]
    fn below_covers_evenly() {
        let mut rng = Rng::new(7, 0);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[rng.below(10) as usize] += 1;
        }
        // Five standard deviations of a binomial with p = 0.1.
        assert!(seen.iter().all(|&n| n.abs_diff(10_000) < 480), "{seen:?}");
        assert_eq!(Rng::new(1, 1).below(1), 0);
        assert!(Rng::new(1, 1).below(u64::MAX) < u64::MAX);
    }

    #[test]
    fn streams_and_seeds_differ_and_repeat() {
        let first = |seed, stream| Rng::new(seed, stream).bits();
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        assert_ne!(first(0, 1), first(1, 0));
    }
}
