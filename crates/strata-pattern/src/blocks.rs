//! The list of blocks a workload touches, and where each lies at the target.

/// A range of the logical address space and where it lies at the target, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First logical byte.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Where `start` lies at the target.
    pub target: u64,
}

/// All blocks wholly inside one segment, in logical order.
///
/// Blocks lie on the grid of multiples of the block size in the **logical** space. A block that straddles two
/// segments is left out, so the same segments give the same list whatever their targets are: a file and the
/// extents under it are measured on the same blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMap {
    block_bytes: u64,
    /// Target of block number 0 if all blocks lay in the first run.
    first_target: u64,
    /// Number of the first block of each run, and the target of that block. Rising; never empty.
    runs: Vec<(u64, u64)>,
    blocks: u64,
}

impl BlockMap {
    /// Cut `segments` (rising, not overlapping in the logical space) into blocks. `None` when no block fits;
    /// `block_bytes` must not be 0 and no segment may end beyond `u64`.
    #[must_use]
    pub fn new(segments: &[Segment], block_bytes: u64) -> Option<Self> {
        let mut runs = Vec::with_capacity(segments.len());
        let mut blocks = 0;
        for segment in segments {
            let (first, end) = Self::grid(segment, block_bytes);
            if first < end {
                runs.push((blocks, segment.target + (first * block_bytes - segment.start)));
                blocks += end - first;
            }
        }
        let &(_, first_target) = runs.first()?;
        Some(Self { block_bytes, first_target, runs, blocks })
    }

    fn grid(segment: &Segment, block_bytes: u64) -> (u64, u64) {
        (segment.start.div_ceil(block_bytes), (segment.start + segment.length) / block_bytes)
    }

    /// Number of blocks; at least 1.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Bytes of each block.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Byte offset at the target of block `index` (below [`Self::blocks`]).
    #[must_use]
    #[inline]
    pub fn offset(&self, index: u64) -> u64 {
        debug_assert!(index < self.blocks);
        if self.runs.len() == 1 {
            return self.first_target + index * self.block_bytes;
        }
        // The runs begin with block 0, so at least one begins at or before any index.
        let run = self.runs.partition_point(|&(first, _)| first <= index) - 1;
        let (first, target) = self.runs[run];
        target + (index - first) * self.block_bytes
    }

    /// End of the highest block at the target, in bytes.
    #[must_use]
    pub fn target_end(&self) -> u64 {
        let ends = self.runs.iter().skip(1).map(|&(first, _)| first).chain([self.blocks]);
        self.runs
            .iter()
            .zip(ends)
            .map(|(&(first, target), end)| target + (end - first) * self.block_bytes)
            .max()
            .unwrap_or(0)
    }

    /// The first block whose target is not a multiple of `align`, as its target offset.
    #[must_use]
    pub fn misaligned(&self, align: u64) -> Option<u64> {
        let stepping = !self.block_bytes.is_multiple_of(align);
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
