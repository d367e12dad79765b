//! What a workload asks for, as a value, and the sequence each of its threads makes of it.

use std::ops::Range;
use std::sync::Arc;

use crate::access::Access;
use crate::blocks::BlockMap;
use crate::flush::{Flush, Flushing};
use crate::io::Io;
use crate::mix::{Directions, Mix};
use crate::order::{Cursor, Interlocked, Once, Order, Pick, Place, Stride, Uniform, Zipf, Zoned};
use crate::rng::{Rng, splitmix};
use crate::sizes::{Lengths, Sizes};
use crate::source::{Stage, Staged};
use crate::targets::{Area, Distribution, Targets};

/// Which blocks of which targets, in which order, length and direction, and when they are flushed.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The targets and their blocks, each as long as the longest I/O.
    pub areas: Vec<Area>,
    /// How the I/Os are distributed over them.
    pub distribution: Distribution,
    /// Order of the blocks of a target.
    pub order: Order,
    /// Lengths of the I/Os.
    pub sizes: Sizes,
    /// Reads among the I/Os.
    pub mix: Mix,
    /// Flushes between writes.
    pub flush: Option<Flush>,
    /// Seed; threads of one seed draw unrelated sequences.
    pub seed: u64,
}

/// Streams of chance; those of places are the thread's number, and the target's above it. The engine has 1 to 4.
mod stream {
    pub const MIX: u64 = 5 << 32;
    pub const SIZES: u64 = 6 << 32;
    pub const TARGETS: u64 = 7 << 32;
    pub const TARGET_SHIFT: u32 = 40;
}

impl Pattern {
    /// All blocks of one target, whole; the other properties can be set afterwards.
    #[must_use]
    pub fn new(map: BlockMap, order: Order, mix: Mix, seed: u64) -> Self {
        let sizes = Sizes::one(map.block_bytes() as u32);
        Self::over(vec![Area::new(map, 1)], order, sizes, mix, seed)
    }

    /// Several targets: at least one, at most 65,536.
    #[must_use]
    pub fn over(areas: Vec<Area>, order: Order, sizes: Sizes, mix: Mix, seed: u64) -> Self {
        Self { areas, distribution: Distribution::Share, order, sizes, mix, flush: None, seed }
    }

    /// Bytes of the longest I/O.
    #[must_use]
    pub fn longest(&self) -> u32 {
        self.sizes.all().max().unwrap_or(0)
    }

    /// Bytes of an I/O on average, flushes (which move none) included.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        let reads = self.mix.reads();
        let flushes = self.flush.map_or(0.0, |flush| (1.0 - reads) / f64::from(flush.every));
        self.sizes.mean(reads) / (1.0 + flushes)
    }

    /// Blocks at target number `target`: places where an I/O may begin.
    #[must_use]
    pub fn blocks(&self, target: u16) -> u64 {
        self.areas.get(usize::from(target)).map_or(0, |area| area.map.blocks())
    }

    /// End of the highest block at target number `target`, in bytes.
    #[must_use]
    pub fn end(&self, target: u16) -> u64 {
        self.areas.get(usize::from(target)).map_or(0, |area| area.map.target_end())
    }

    /// An offset or length at target number `target` that is no multiple of `align` bytes, where there is one.
    #[must_use]
    pub fn misaligned(&self, target: u16, align: u64) -> Option<u64> {
        let length = || self.sizes.all().map(u64::from).find(|bytes| !bytes.is_multiple_of(align));
        self.areas.get(usize::from(target))?.map.misaligned(align).or_else(length)
    }

    /// The sequence of thread `thread` of `threads`. `None` when the thread's part of a sequential range holds no
    /// block, or a zone that should get I/Os has none.
    #[must_use]
    pub fn access(&self, thread: u32, threads: u32) -> Option<Access> {
        let rng = |stream: u64| Rng::new(self.seed, stream + u64::from(thread));
        let mut common = Io::new(self.mix.only().unwrap_or_default(), 0, 0, self.longest());
        let mut stages: Vec<Box<dyn Stage>> = Vec::new();
        match self.distribution {
            Distribution::Thread => common.set_target((thread as usize % self.areas.len()) as u16),
            Distribution::Share if self.areas.len() > 1 => {
                stages.push(Box::new(Targets::new(&self.areas, rng(stream::TARGETS))?));
            }
            Distribution::Share => {}
        }
        if self.mix.only().is_none() {
            stages.push(Box::new(Directions::new(self.mix, rng(stream::MIX))));
        }
        if self.sizes.only().is_none() {
            stages.push(Box::new(Lengths::new(&self.sizes, rng(stream::SIZES))));
        }
        stages.push(self.places(thread, threads)?);
        // What is drawn ahead of a shared sequence would be taken long before it is issued.
        let shared = self.order == Order::Interlocked;
        let access = Access::of(Staged { common, stages }, shared);
        Some(match self.flush {
            Some(flush) if self.mix != Mix::Read => {
                Access::of(Flushing::new(access, flush, self.areas.len()), shared)
            }
            _ => access,
        })
    }

    /// What sets the offsets.
    fn places(&self, thread: u32, threads: u32) -> Option<Box<dyn Stage>> {
        let targets = self.areas.len();
        // The targets this thread goes to, and its place among the threads that do.
        let (mine, thread_there, threads_there) = match self.distribution {
            Distribution::Share => (0..targets, thread, threads),
            Distribution::Thread => {
                let own = thread as usize % targets;
                let there = (threads as usize - own).div_ceil(targets);
                (own..own + 1, thread / targets as u32, there as u32)
            }
        };
        let rng = |target: usize| {
            Rng::new(self.seed, ((target as u64) << stream::TARGET_SHIFT) + u64::from(thread))
        };
        // The same for all threads.
        let shared = |target: usize| splitmix(self.seed ^ splitmix(target as u64));
        let cursor = |stride: Stride| {
            self.place(mine.clone(), move |_, map| Cursor::new(map, stride, thread_there, threads_there))
        };
        match &self.order {
            Order::Sequential => cursor(Stride::default()),
            Order::Strided(stride) => cursor(*stride),
            Order::Interlocked => {
                self.place(mine, |target, _| Some(Interlocked::new(Arc::clone(&self.areas[target].taken))))
            }
            Order::Random => self.place(mine, |target, _| Some(Uniform(rng(target)))),
            Order::Once => {
                self.place(mine, |target, map| Once::new(map, shared(target), thread_there, threads_there))
            }
            Order::Zipf(theta) => {
                self.place(mine, |target, map| Some(Zipf::new(map, *theta, shared(target), rng(target))))
            }
            Order::Zones(zones) => self.place(mine, |target, map| Zoned::new(map, zones, rng(target))),
        }
    }

    fn place<P: Pick + 'static>(
        &self,
        targets: Range<usize>,
        make: impl Fn(usize, &BlockMap) -> Option<P>,
    ) -> Option<Box<dyn Stage>> {
        let places = targets.map(|target| {
            let map = &self.areas.get(target)?.map;
            Some((map.clone(), make(target, map)?))
        });
        let places: Box<[_]> = places.collect::<Option<_>>()?;
        Some(Box::new(Place(places)))
    }
}
