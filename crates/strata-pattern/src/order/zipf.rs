//! A few blocks often, most of them seldom.

use super::Pick;
use crate::blocks::BlockMap;
use crate::permutation::Permutation;
use crate::rng::Rng;

/// Draws ranks with chance proportional to k^−θ, and scatters them over the blocks.
///
/// Rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", 1996): the integral of x^−θ is inverted at a uniform point and rounded to a rank, which is taken
/// unless it lies in the small piece by which the rank's bar falls short of the integral.
pub(crate) struct Zipf {
    rng: Rng,
    scatter: Permutation,
    theta: f64,
    ranks: f64,
    /// The integral at the two ends of the range that is drawn from.
    ends: (f64, f64),
    /// Below this distance the rank is right without a look at the integral.
    sure: f64,
}

impl Zipf {
    /// `theta` must be positive and finite; which block has which rank depends on `seed`.
    pub fn new(map: &BlockMap, theta: f64, seed: u64, rng: Rng) -> Self {
        let ranks = map.blocks() as f64;
        let mut zipf = Self {
            rng,
            scatter: Permutation::new(map.blocks(), seed),
            theta,
            ranks,
            ends: (0.0, 0.0),
            sure: 0.0,
        };
        zipf.ends = (zipf.integral(ranks + 0.5), zipf.integral(1.5) - 1.0);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.bar(2.0));
        zipf
    }

    /// Height of the bar of rank `x`.
    fn bar(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// The integral of the bars' curve from 1 to `x`: (x^(1−θ) − 1)/(1−θ), which is ln x for θ = 1.
    fn integral(&self, x: f64) -> f64 {
        let (log, power) = (x.ln(), 1.0 - self.theta);
        if (power * log).abs() < 1e-12 { log } else { (power * log).exp_m1() / power }
    }

    /// The x at which the integral is `area`.
    fn inverse(&self, area: f64) -> f64 {
        let power = 1.0 - self.theta;
        let t = (power * area).max(-1.0);
        if t.abs() < 1e-12 {
            return area.exp();
        }
        // The plain logarithm is the quicker one, and as good far from 1.
        let log = if t.abs() < 0.1 { t.ln_1p() } else { (1.0 + t).ln() };
        (log / power).exp()
    }

    fn rank(&mut self) -> f64 {
        let (far, near) = self.ends;
        loop {
            // 53 random bits: a point in (near, far].
            let uniform = (self.rng.bits() >> 11) as f64 / (1u64 << 53) as f64;
            let area = far + uniform * (near - far);
            let x = self.inverse(area);
            let rank = (x + 0.5).floor().clamp(1.0, self.ranks);
            if rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.bar(rank) {
                return rank;
            }
        }
    }
}

impl Pick for Zipf {
    #[inline]
    fn pick(&mut self, _map: &BlockMap, _len: u32) -> u64 {
        let rank = self.rank() as u64;
        self.scatter.at(rank - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Segment;

    #[test]
    fn ranks_follow_the_power_law() {
        let blocks = 50;
        let map =
            BlockMap::new(&[Segment { start: 0, length: blocks * 512, target: 0 }], 512).expect("blocks");
        for theta in [0.3, 0.9, 1.0, 1.2, 2.5] {
            let mut zipf = Zipf::new(&map, theta, 1, Rng::new(5, 0));
            let mut seen = vec![0u64; blocks as usize];
            let n = 200_000;
            (0..n).for_each(|_| seen[zipf.rank() as usize - 1] += 1);
            let total: f64 = (1..=blocks).map(|k| (k as f64).powf(-theta)).sum();
            let chi2: f64 = seen
                .iter()
                .zip(1u64..)
                .map(|(&seen, k)| {
                    let expected = n as f64 * (k as f64).powf(-theta) / total;
                    (seen as f64 - expected).powi(2) / expected
                })
                .sum();
            // 49 degrees of freedom: 95 is exceeded by chance once in 10 000 times.
            assert!(chi2 < 95.0, "θ = {theta}: {chi2}");
        }
    }

    #[test]
    fn many_ranks_and_one() {
        let map = |blocks: u64| {
            BlockMap::new(&[Segment { start: 0, length: blocks * 512, target: 0 }], 512).expect("blocks")
        };
        let huge = map(1 << 40);
        let mut zipf = Zipf::new(&huge, 0.8, 1, Rng::new(5, 0));
        assert!((0..1000).all(|_| zipf.pick(&huge, 512) < 1 << 40));
        let one = map(1);
        let mut zipf = Zipf::new(&one, 1.2, 1, Rng::new(5, 0));
        assert!((0..100).all(|_| zipf.pick(&one, 512) == 0));
    }
}
