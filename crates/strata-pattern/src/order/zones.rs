//! Stated shares of the I/Os for stated pieces of the range: hot and cold data.

use super::Pick;
use crate::blocks::BlockMap;
use crate::rng::Rng;
use crate::weighted::Weighted;

/// How much of the range a zone is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// Percent of the blocks.
    Percent(f64),
    /// Bytes, rounded to whole blocks.
    Bytes(u64),
}

/// A piece of the range, next to the one before it, and its share of the I/Os.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zone {
    /// Percent of the I/Os.
    pub access: f64,
    /// How much of the range.
    pub span: Span,
}

/// Parts of a percent that are told apart.
const PARTS: f64 = 1e6;

/// Draws a zone, then a block of it.
pub(crate) struct Zoned {
    choice: Weighted,
    /// First block and number of blocks of each zone.
    zones: Box<[(u64, u64)]>,
    rng: Rng,
}

impl Zoned {
    /// What the zones leave of the range gets what they leave of the I/Os. `None` when a zone that should get I/Os
    /// has no block.
    pub fn new(map: &BlockMap, zones: &[Zone], rng: Rng) -> Option<Self> {
        let (blocks, mut first) = (map.blocks(), 0);
        let mut pieces = Vec::with_capacity(zones.len() + 1);
        let mut weights = Vec::with_capacity(zones.len() + 1);
        let mut percent_end = 0.0;
        for zone in zones {
            let end = match zone.span {
                Span::Percent(percent) => {
                    percent_end += percent;
                    (blocks as f64 * percent_end / 100.0).round() as u64
                }
                Span::Bytes(bytes) => first + bytes / map.step_bytes(),
            };
            let end = end.clamp(first, blocks);
            pieces.push((first, end - first));
            weights.push((zone.access * PARTS).round() as u64);
            first = end;
        }
        let left = (100.0 * PARTS) as u64 - weights.iter().sum::<u64>().min((100.0 * PARTS) as u64);
        pieces.push((first, blocks - first));
        weights.push(left);
        let idle = pieces.iter().zip(&weights).any(|(&(_, length), &weight)| weight > 0 && length == 0);
        (!idle).then(|| Weighted::new(weights).map(|choice| Self { choice, zones: pieces.into(), rng }))?
    }
}

impl Pick for Zoned {
    #[inline]
    fn pick(&mut self, _map: &BlockMap, _len: u32) -> u64 {
        let (first, length) = self.zones[self.choice.draw(&mut self.rng)];
        first + self.rng.below(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Segment;

    fn seen(zones: &[Zone]) -> Option<[u32; 10]> {
        let map = BlockMap::new(&[Segment { start: 0, length: 1000 * 512, target: 0 }], 512)?;
        let mut zoned = Zoned::new(&map, zones, Rng::new(2, 0))?;
        let mut seen = [0u32; 10];
        (0..100_000).for_each(|_| seen[(zoned.pick(&map, 512) / 100) as usize] += 1);
        Some(seen)
    }

    #[test]
    fn shares_of_ios_go_to_shares_of_the_range() {
        let zone = |access, percent| Zone { access, span: Span::Percent(percent) };
        let near = |seen: &[u32], expected: u32| {
            let sum: u32 = seen.iter().sum();
            assert!(sum.abs_diff(expected) < 900, "{seen:?}: {expected}");
        };
        let hot = seen(&[zone(90.0, 10.0), zone(10.0, 90.0)]).expect("zones");
        near(&hot[..1], 90_000);
        near(&hot[1..], 10_000);
        near(&hot[5..6], 1_111);
        // What is left of the range gets what is left of the I/Os.
        let left =
            seen(&[zone(60.0, 20.0), Zone { access: 30.0, span: Span::Bytes(100 * 512) }]).expect("zones");
        near(&left[..2], 60_000);
        near(&left[2..3], 30_000);
        near(&left[3..], 10_000);
        let none = seen(&[zone(50.0, 50.0), zone(0.0, 20.0), zone(50.0, 30.0)]).expect("zones");
        assert_eq!(none[5..7], [0, 0]);
    }

    #[test]
    fn a_zone_without_a_block_is_refused() {
        let thin = Zone { access: 50.0, span: Span::Percent(0.01) };
        assert_eq!(seen(&[thin]), None);
        assert_eq!(seen(&[Zone { access: 50.0, span: Span::Percent(100.0) }]), None);
    }
}
