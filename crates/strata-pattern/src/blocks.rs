//! The list of blocks a workload touches, and where each lies at the target.

use serde::Deserialize;

/// A range of the logical address space and where it lies at the target, in bytes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// First logical byte.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Where `start` lies at the target.
    pub target: u64,
}

/// How segments are cut into blocks. All bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Distance between the beginnings of two blocks.
    pub step: u64,
    /// Length of a block; may be more or less than the step.
    pub length: u64,
    /// Blocks begin this far behind multiples of the step.
    pub shift: u64,
}

impl Cut {
    /// Blocks of `bytes` side by side, on multiples of their length.
    #[must_use]
    pub fn whole(bytes: u64) -> Self {
        Self { step: bytes, length: bytes, shift: 0 }
    }

    /// First and end of the block numbers (in the whole logical space) that lie inside `segment`.
    fn grid(self, segment: &Segment) -> (u64, u64) {
        let first = segment.start.saturating_sub(self.shift).div_ceil(self.step);
        let end = segment.start + segment.length;
        // Of the last block's beginning; below it there is none.
        let last = end.checked_sub(self.length).and_then(|begin| begin.checked_sub(self.shift));
        (first, last.map_or(0, |begin| begin / self.step + 1))
    }
}

/// All blocks wholly inside one segment, in logical order.
///
/// Blocks lie on a grid of the **logical** space (multiples of the block size, unless [`Cut`] says otherwise). A
/// block that straddles two segments is left out, so the same segments give the same list whatever their targets
/// are: a file and the extents under it are measured on the same blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMap {
    cut: Cut,
    /// Target of block number 0 if all blocks lay in the first run.
    first_target: u64,
    /// Number of the first block of each run, and the target of that block. Rising; never empty.
    runs: Vec<(u64, u64)>,
    blocks: u64,
}

impl BlockMap {
    /// Cut `segments` into blocks of `block_bytes` side by side; see [`Self::cut`].
    #[must_use]
    pub fn new(segments: &[Segment], block_bytes: u64) -> Option<Self> {
        Self::cut(segments, Cut::whole(block_bytes))
    }

    /// Cut `segments` (rising, not overlapping in the logical space) into blocks. `None` when no block fits;
    /// step and length must not be 0 and no segment may end beyond `u64`.
    #[must_use]
    pub fn cut(segments: &[Segment], cut: Cut) -> Option<Self> {
        let mut runs = Vec::with_capacity(segments.len());
        let mut blocks = 0;
        for segment in segments {
            let (first, end) = cut.grid(segment);
            if first < end {
                runs.push((blocks, segment.target + (first * cut.step + cut.shift - segment.start)));
                blocks += end - first;
            }
        }
        let &(_, first_target) = runs.first()?;
        Some(Self { cut, first_target, runs, blocks })
    }

    /// Number of blocks; at least 1.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Bytes of each block.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.cut.length
    }

    /// Bytes between the beginnings of two blocks.
    #[must_use]
    pub fn step_bytes(&self) -> u64 {
        self.cut.step
    }

    /// Byte offset at the target of block `index` (below [`Self::blocks`]).
    #[must_use]
    #[inline]
    pub fn offset(&self, index: u64) -> u64 {
        debug_assert!(index < self.blocks);
        if self.runs.len() == 1 {
            return self.first_target + index * self.cut.step;
        }
        let (first, target) = self.runs[self.run_of(index)];
        target + (index - first) * self.cut.step
    }

    /// The run that holds block `index`: the runs begin with block 0, so at least one begins at or before any index.
    #[inline]
    fn run_of(&self, index: u64) -> usize {
        self.runs.partition_point(|&(first, _)| first <= index) - 1
    }

    /// The block `steps` behind block `index`, or the first one of the next run where this run holds none there.
    /// May be [`Self::blocks`] or more: then there is none.
    #[must_use]
    #[inline]
    pub fn behind(&self, index: u64, steps: u64) -> u64 {
        if self.runs.len() == 1 || steps == 1 {
            return index + steps;
        }
        let next = self.runs.get(self.run_of(index) + 1);
        next.map_or(index + steps, |&(first, _)| first.min(index + steps))
    }

    /// End of the highest block at the target, in bytes.
    #[must_use]
    pub fn target_end(&self) -> u64 {
        let ends = self.runs.iter().skip(1).map(|&(first, _)| first).chain([self.blocks]);
        self.runs
            .iter()
            .zip(ends)
            .map(|(&(first, target), end)| target + (end - 1 - first) * self.cut.step + self.cut.length)
            .max()
            .unwrap_or(0)
    }

    /// The first block whose target is not a multiple of `align`, as its target offset.
    #[must_use]
    pub fn misaligned(&self, align: u64) -> Option<u64> {
        let stepping = !self.cut.step.is_multiple_of(align);
        self.runs
            .iter()
            .map(|&(_, target)| target)
            .find(|target| !target.is_multiple_of(align))
            .or_else(|| (stepping && self.blocks > 1).then(|| self.offset(1)))
    }

    /// Blocks of part `part` of `parts` equal ones (they differ by one block at most): first and end.
    #[must_use]
    pub fn part(&self, part: u64, parts: u64) -> (u64, u64) {
        let cut = |n: u64| (u128::from(self.blocks) * u128::from(n) / u128::from(parts)) as u64;
        (cut(part), cut(part + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segment(start: u64, length: u64, target: u64) -> Segment {
        Segment { start, length, target }
    }

    #[test]
    fn one_segment_by_hand() {
        let map = BlockMap::new(&[segment(0, 10_000, 1 << 20)], 4096).expect("two blocks");
        assert_eq!((map.blocks(), map.offset(0), map.offset(1)), (2, 1 << 20, (1 << 20) + 4096));
        assert_eq!(map.target_end(), (1 << 20) + 8192);
        // Begins inside a block of the grid: the first whole one is at 8192.
        let map = BlockMap::new(&[segment(4097, 12_288, 0)], 4096).expect("two blocks");
        assert_eq!((map.blocks(), map.offset(0)), (2, 4095));
        assert_eq!(map.misaligned(512), Some(4095));
        assert_eq!(BlockMap::new(&[segment(1, 8190, 0)], 4096), None);
        assert_eq!(BlockMap::new(&[], 4096), None);
    }

    #[test]
    fn straddling_blocks_are_left_out() {
        let map =
            BlockMap::new(&[segment(0, 6144, 100 * 4096), segment(6144, 10_240, 7 * 4096 + 2048)], 4096)
                .expect("blocks");
        let offsets: Vec<u64> = (0..map.blocks()).map(|i| map.offset(i)).collect();
        assert_eq!(offsets, [100 * 4096, 8 * 4096, 9 * 4096]);
        assert_eq!(map.misaligned(4096), None);
        assert_eq!(
            BlockMap::new(&[segment(0, 3 * 4096, 0)], 4096).and_then(|m| m.misaligned(8192)),
            Some(4096)
        );
    }

    #[test]
    fn a_step_a_length_and_a_shift() {
        let offsets = |map: &BlockMap| (0..map.blocks()).map(|i| map.offset(i)).collect::<Vec<_>>();
        // 8 KiB blocks on every 4 KiB, 512 bytes behind: the last one must still fit.
        let off = Cut { step: 4096, length: 8192, shift: 512 };
        let map = BlockMap::cut(&[segment(0, 5 * 4096, 1 << 20)], off).expect("blocks");
        assert_eq!(offsets(&map), [0, 1, 2].map(|n| (1 << 20) + 512 + n * 4096));
        assert_eq!(map.target_end(), (1 << 20) + 512 + 4 * 4096);
        assert_eq!((map.misaligned(512), map.misaligned(1024)), (None, Some((1 << 20) + 512)));
        // The segment begins behind the shifted block of its own grid square.
        let map = BlockMap::cut(&[segment(1024, 3 * 4096, 0)], Cut { length: 4096, ..off }).expect("blocks");
        assert_eq!(offsets(&map), [4096 + 512 - 1024, 8192 + 512 - 1024]);
        assert_eq!(BlockMap::cut(&[segment(0, 8192 + 511, 0)], off), None);
        assert_eq!(BlockMap::cut(&[segment(0, 8192, 0)], off), None);
    }

    #[test]
    fn behind_stops_at_the_beginning_of_a_run() {
        let map = BlockMap::new(&[segment(0, 4 * 512, 0), segment(4 * 512, 3 * 512, 1 << 20)], 512)
            .expect("7 blocks");
        assert_eq!([map.behind(0, 2), map.behind(2, 3), map.behind(3, 1), map.behind(5, 2)], [2, 4, 4, 7]);
    }

    proptest! {
        #[test]
        fn same_list_whatever_the_targets(
            lengths in prop::collection::vec(1u64..50_000, 1..8), gaps in prop::collection::vec(0u64..9_000, 8),
            block in prop::sample::select(vec![512u64, 1000, 4096, 16_384]),
        ) {
            let (mut at, mut segments) = (0, Vec::new());
            for (length, gap) in lengths.iter().zip(&gaps) {
                at += gap;
                segments.push(segment(at, *length, at));
                at += length;
            }
            let identity = BlockMap::new(&segments, block);
            // Scatter the targets; the blocks must stay the same ones, inside one segment each.
            let scattered: Vec<Segment> =
                segments.iter().enumerate().map(|(i, s)| segment(s.start, s.length, (9 - i as u64) << 32)).collect();
            let moved = BlockMap::new(&scattered, block);
            prop_assert_eq!(identity.as_ref().map(BlockMap::blocks), moved.as_ref().map(BlockMap::blocks));
            let (Some(identity), Some(moved)) = (identity, moved) else { return Ok(()) };
            for index in 0..identity.blocks() {
                let logical = identity.offset(index);
                prop_assert_eq!(logical % block, 0);
                let home = segments.iter().position(|s| s.start <= logical && logical + block <= s.start + s.length);
                let home = home.expect("inside one segment");
                prop_assert_eq!(moved.offset(index), ((9 - home as u64) << 32) + logical - segments[home].start);
                prop_assert!(moved.offset(index) + block <= moved.target_end());
            }
            let parts: Vec<_> = (0..3).map(|p| identity.part(p, 3)).collect();
            prop_assert_eq!((parts[0].0, parts[2].1), (0, identity.blocks()));
            prop_assert!(parts[0].1 == parts[1].0 && parts[1].1 == parts[2].0);
        }
    }
}
