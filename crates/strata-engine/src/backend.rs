//! The backends of this machine: files, devices and nothing.
//!
//! A backend is one function that ends in [`Launch::go`] with a factory `Fn(thread) -> Result<Made<Q>>`.

use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use strata_io::{Buffers, Change, EngineChoice, Files, Kind, Null, OpenSpec, Pool, Psync, Uring};
use strata_pattern::Area;

use crate::collector::Epilogue;
use crate::control::Reason;
use crate::error::{Error, Result};
use crate::job::Sync;
use crate::outcome::{BuildInfo, Effective, EffectiveTarget};
use crate::run::{Launch, Run};
use crate::worker::{Made, Recipe};

/// A file or device and how to open it.
pub(crate) struct Spec {
    pub path: PathBuf,
    /// Opened beside this descriptor, where there is one.
    pub fd: Option<RawFd>,
    pub kind: Kind,
    pub direct: bool,
    pub sync: Sync,
}

pub(crate) fn null(recipe: Recipe, build: BuildInfo, limit: Option<(u64, Reason)>) -> Result<Run> {
    let (depth, block_bytes) = (recipe.depth, recipe.block_bytes);
    let effective = Effective::plain(blocks(&recipe), block_bytes);
    let endpoint = "null:".to_owned();
    let factory = move |_| {
        let queue = Null::new(buffers(depth, block_bytes, 1)?);
        Ok(Made { queue, setup: Vec::new() })
    };
    Launch { recipe, effective, endpoint, build, limit, epilogue: None }.go("null", None, factory)
}

/// Load files or devices through io_uring or the pool. `change` is what I/Os that do not read do there.
pub(crate) fn disk(
    specs: &[Spec],
    choice: EngineChoice,
    change: Option<Change>,
    recipe: Recipe,
    build: BuildInfo,
    limit: Option<(u64, Reason)>,
    epilogue: Option<Epilogue>,
) -> Result<Run> {
    let Some(path) = specs.first().map(|spec| spec.path.as_path()) else {
        return Err(Error::bug("engine", "no target"));
    };
    let opened = opened(specs, change, &recipe)?;
    // A job has one `sync` for all of its targets.
    let sync = specs.first().map_or(Sync::None, |spec| spec.sync);
    let (depth, block_bytes) = (recipe.depth, recipe.block_bytes);
    // What suits the pickiest of them suits all: alignments are powers of two.
    let align = |of: fn(&strata_io::Target) -> u32| opened.iter().map(of).max().unwrap_or(1);
    let mem_align = align(|target| target.align.mem);
    let effective = Effective {
        direct: opened.iter().all(|target| target.direct),
        // RWF_DSYNC leaves nothing to read back: a kernel without it refuses each write.
        sync: if opened.iter().all(|target| target.dsync) { Sync::Dsync.name() } else { sync.name() },
        mem_align,
        offset_align: align(|target| target.align.offset),
        targets: each_of_several(specs, &opened, &recipe),
        ..Effective::plain(blocks(&recipe), block_bytes)
    };
    // As they are all of one kind.
    let kind = specs.first().map_or(Kind::File, |spec| spec.kind);
    let change = change.unwrap_or_default().at(kind, sync.write_flags());
    let more = specs.len() - 1;
    let endpoint =
        if more == 0 { path.display().to_string() } else { format!("{} and {more} more", path.display()) };
    let files = Arc::new(Files::new(opened.into_iter().map(|target| target.file).collect()));
    let mut refused = None;
    // One at a time through the page cache and as fast as it goes: what a ring does for that is done by the call itself,
    // with less around it. A pace is kept better by a ring, whose waits end more exactly than a thread's sleep.
    let unpaced = recipe.rate.is_none() && recipe.limits.is_none();
    let plain = choice == EngineChoice::Auto && depth == 1 && unpaced && !effective.direct;
    let launch = Launch { recipe, effective, endpoint, build, limit, epilogue };
    if choice != EngineChoice::Pool && !plain {
        let rings = Arc::clone(&files);
        let factory = move |thread| {
            let queue = Uring::new(Arc::clone(&rings), buffers(depth, block_bytes, mem_align)?)
                .map_err(|e| Error::system(format!("cannot set up the ring of thread {thread}"), e))?;
            let setup = queue.setup();
            let cannot = |e| Error::system("cannot use a ring", e);
            Ok(Made { queue: queue.with_change(change).map_err(cannot)?, setup })
        };
        // Tried once before any thread starts, to know whether to fall back.
        match Uring::new(Arc::clone(&files), buffers(1, 1, 1)?) {
            Err(e) if choice == EngineChoice::IoUring => {
                let what = "io_uring was requested but is refused; use engine = \"auto\" or \"pool\"";
                return Err(strata_io::Error::new(what, path, e).into());
            }
            Err(e) => refused = Some(e.to_string()),
            Ok(tried) => {
                drop(tried);
                match launch.clone().go("io_uring", None, factory) {
                    // One small ring was granted and these are not: most often the limit of locked memory, which
                    // rings count against. What is wrong for the pool as well is found again below.
                    Err(e) if choice == EngineChoice::Auto => refused = Some(e.to_string()),
                    other => return other,
                }
            }
        }
    }
    let fallback_reason = refused.map(|e| format!("io_uring is refused: {e}"));
    if depth == 1 {
        let factory = move |thread| {
            let queue = Psync::new(Arc::clone(&files), buffers(1, block_bytes, mem_align)?)
                .map_err(|e| Error::system(format!("cannot set up thread {thread}"), e))?;
            Ok(Made { queue: queue.with_change(change), setup: Vec::new() })
        };
        return launch.go("psync", fallback_reason, factory);
    }
    let factory = move |thread| {
        let queue = Pool::new(&files, buffers(depth, block_bytes, mem_align)?)
            .map_err(|e| Error::system(format!("cannot start the I/O threads of thread {thread}"), e))?;
        let setup = queue.setup();
        Ok(Made { queue: queue.with_change(change), setup })
    };
    launch.go("pool", fallback_reason, factory)
}

fn buffers(depth: u32, block_bytes: u32, align: u32) -> Result<Buffers> {
    Buffers::new(depth, block_bytes as usize, align)
        .map_err(|e| Error::system(format!("cannot get {depth} buffers of {block_bytes} bytes"), e))
}

fn blocks(recipe: &Recipe) -> u64 {
    (0..recipe.pattern.areas.len()).map(|target| recipe.pattern.blocks(target as u16)).sum()
}

/// Open the targets and check the blocks against them.
fn opened(specs: &[Spec], change: Option<Change>, recipe: &Recipe) -> Result<Vec<strata_io::Target>> {
    let open = |(number, spec): (usize, &Spec)| {
        let path = spec.path.as_path();
        let dsync = spec.sync == Sync::Dsync;
        let (fd, kind, direct) = (spec.fd, spec.kind, spec.direct);
        let write = change.is_some();
        let target = strata_io::open(&OpenSpec { path, fd, kind, direct, dsync, write })?;
        if let Some(Err((what, source))) = change.map(|change| change.at(kind, 0).check(&target.file)) {
            return Err(strata_io::Error::new(what, path, source).into());
        }
        fits(recipe, number as u16, &target, path)?;
        Ok(target)
    };
    specs.iter().enumerate().map(open).collect()
}

/// What is in force at each target, where there are several.
fn each_of_several(specs: &[Spec], opened: &[strata_io::Target], recipe: &Recipe) -> Vec<EffectiveTarget> {
    if specs.len() < 2 {
        return Vec::new();
    }
    let each = |((spec, target), area): ((&Spec, &strata_io::Target), &Area)| EffectiveTarget {
        path: spec.path.display().to_string(),
        size_bytes: target.size_bytes,
        direct: target.direct,
        sync: if target.dsync { "dsync" } else { "none" },
        mem_align: target.align.mem,
        offset_align: target.align.offset,
        blocks: area.map.blocks(),
        weight: area.weight,
    };
    specs.iter().zip(opened).zip(&recipe.pattern.areas).map(each).collect()
}

/// Whether the blocks of target number `number` lie inside it, and where direct I/O can reach them.
fn fits(recipe: &Recipe, number: u16, target: &strata_io::Target, path: &Path) -> Result<()> {
    let refuse = |what: String| Err(strata_io::Error::refused(what, path, libc::EINVAL).into());
    let end = recipe.pattern.end(number);
    if end > target.size_bytes {
        return refuse(format!(
            "the blocks end at byte {end}, the target has {}; shorten the segments",
            target.size_bytes
        ));
    }
    let align = target.align.offset;
    let odd_length = recipe.pattern.sizes.all().find(|bytes| !bytes.is_multiple_of(align));
    match (odd_length, recipe.pattern.misaligned(number, u64::from(align))) {
        (Some(bytes), _) if target.direct => refuse(format!(
            "direct I/O needs blocks of a multiple of {align} bytes, bs is {bytes}; choose such a bs, or direct = false"
        )),
        (None, Some(offset)) if target.direct => refuse(format!(
            "direct I/O needs offsets of a multiple of {align} bytes, a block lies at {offset}; move the segments"
        )),
        _ => Ok(()),
    }
}
