//! A choice among a few things with stated weights.

use crate::rng::Rng;

/// Draws a number below the count of its weights, each as often as its weight says.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    /// Sums of the weights up to and including each; rising.
    sums: Box<[u64]>,
    total: u64,
}

impl Weighted {
    /// `None` when the weights add up to 0 (or beyond 64 bits).
    pub fn new(weights: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut total = 0u64;
        let sums = weights.into_iter().map(|weight| {
            total = total.checked_add(weight)?;
            Some(total)
        });
        let sums: Box<[u64]> = sums.collect::<Option<_>>()?;
        (total > 0).then_some(Self { sums, total })
    }

    /// Which one.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> usize {
        let roll = rng.below(self.total);
        if self.sums.len() <= 8 {
            // Fewer steps than a bisection's mispredicted branches.
            self.sums.iter().map(|&sum| usize::from(sum <= roll)).sum()
        } else {
            self.sums.partition_point(|&sum| sum <= roll)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_as_often_as_its_weight_says() {
        for weights in [vec![1u64, 0, 3, 6], (0..20).collect()] {
            let (weighted, mut rng) = (Weighted::new(weights.clone()).expect("weights"), Rng::new(3, 0));
            let mut seen = vec![0u64; weights.len()];
            let n = 100_000;
            (0..n).for_each(|_| seen[weighted.draw(&mut rng)] += 1);
            for (&weight, &seen) in weights.iter().zip(&seen) {
                let expected = n as f64 * weight as f64 / weights.iter().sum::<u64>() as f64;
                // Five standard deviations.
                assert!((seen as f64 - expected).abs() <= 5.0 * expected.sqrt(), "{weight}: {seen}");
            }
        }
        assert!(Weighted::new([]).is_none() && Weighted::new([0, 0]).is_none());
        assert!(Weighted::new([u64::MAX, 1]).is_none());
    }
}
