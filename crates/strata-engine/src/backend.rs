//! Which queue carries a job: opens the target and says how each thread makes its queue.
//!
//! A backend is one function that ends in [`Launch::go`] with a factory `Fn(thread) -> Result<Made<Q>>`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use strata_io::{Buffers, Files, Kind, Null, OpenSpec, Pool, Psync, Uring};

use crate::conductor::Epilogue;
use crate::control::Reason;
use crate::error::{Error, Result};
use crate::job::{EngineChoice, Job, Sync, Target};
use crate::nbd;
use crate::outcome::{BuildInfo, Effective};
use crate::run::{Launch, Run, limit};
use crate::worker::{Made, Recipe};

/// Open the target of `job` and start its threads.
pub(crate) fn launch(job: &Job, recipe: Recipe, build: BuildInfo) -> Result<Run> {
    let limit = limit(job);
    match &job.target {
        Target::Null {} => null(recipe, build, limit),
        Target::Nbd { uri, connections, sync } => {
            nbd::launch(uri, *connections, *sync, job.workload.rw.writes(), recipe, build, limit)
        }
        Target::File { path, direct, sync, .. } => {
            let spec = Spec { path: path.into(), kind: Kind::File, direct: *direct, sync: *sync };
            disk(spec, job.engine, job.workload.rw.writes(), recipe, build, limit, None)
        }
        Target::Block { path, direct, sync, .. } => {
            let spec = Spec { path: path.into(), kind: Kind::Block, direct: *direct, sync: *sync };
            disk(spec, job.engine, job.workload.rw.writes(), recipe, build, limit, None)
        }
    }
}

/// A file or device and how to open it.
pub(crate) struct Spec {
    pub path: PathBuf,
    pub kind: Kind,
    pub direct: bool,
    pub sync: Sync,
}

fn null(recipe: Recipe, build: BuildInfo, limit: Option<(u64, Reason)>) -> Result<Run> {
    let (depth, block_bytes) = (recipe.depth, recipe.block_bytes);
    let effective = Effective {
        direct: false,
        sync: "none",
        mem_align: 1,
        offset_align: 1,
        blocks: recipe.pattern.map.blocks(),
        block_bytes,
        connections: 1,
    };
    let endpoint = "null:".to_owned();
    let factory = move |_| {
        let queue = Null::new(buffers(depth, block_bytes, 1)?);
        Ok(Made { queue, setup: Vec::new() })
    };
    Launch {
        recipe,
        factory,
        kind: "null",
        fallback_reason: None,
        effective,
        endpoint,
        build,
        limit,
        epilogue: None,
    }
    .go()
}

/// Load a file or device through io_uring or the pool.
pub(crate) fn disk(
    spec: Spec,
    choice: EngineChoice,
    write: bool,
    recipe: Recipe,
    build: BuildInfo,
    limit: Option<(u64, Reason)>,
    epilogue: Option<Epilogue>,
) -> Result<Run> {
    let path = spec.path.as_path();
    let target = strata_io::open(&OpenSpec {
        path,
        kind: spec.kind,
        direct: spec.direct,
        dsync: spec.sync == Sync::Dsync,
        write,
    })?;
    fits(&recipe, &target, path)?;
    let (depth, block_bytes, align) = (recipe.depth, recipe.block_bytes, target.align);
    let effective = Effective {
        direct: target.direct,
        // RWF_DSYNC leaves nothing to read back: a kernel without it refuses each write.
        sync: if target.dsync { Sync::Dsync.name() } else { spec.sync.name() },
        mem_align: align.mem,
        offset_align: align.offset,
        blocks: recipe.pattern.map.blocks(),
        block_bytes,
        connections: 1,
    };
    let write_flags = spec.sync.write_flags();
    let endpoint = path.display().to_string();
    let files = Arc::new(Files::from(target.file));
    let mut refused = None;
    if choice != EngineChoice::Pool {
        let rings = Arc::clone(&files);
        let factory = move |thread| {
            let queue = Uring::new(Arc::clone(&rings), buffers(depth, block_bytes, align.mem)?)
                .map_err(|e| Error::system(format!("cannot set up the ring of thread {thread}"), e))?;
            let setup = queue.setup();
            Ok(Made { queue: queue.with_write_flags(write_flags), setup })
        };
        // Tried once before any thread starts, to know whether to fall back.
        match Uring::new(Arc::clone(&files), buffers(1, 1, 1)?) {
            Err(e) if choice == EngineChoice::IoUring => {
                let what = "io_uring was asked for and is refused; use engine = \"auto\" or \"pool\"";
                return Err(strata_io::Error::new(what, path, e).into());
            }
            Err(e) => refused = Some(e.to_string()),
            Ok(tried) => {
                drop(tried);
                let launch = Launch {
                    recipe: recipe.clone(),
                    factory,
                    kind: "io_uring",
                    fallback_reason: None,
                    effective: effective.clone(),
                    endpoint: endpoint.clone(),
                    build: build.clone(),
                    limit,
                    epilogue: epilogue.clone(),
                };
                match launch.go() {
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
            let queue = Psync::new(Arc::clone(&files), buffers(1, block_bytes, align.mem)?)
                .map_err(|e| Error::system(format!("cannot set up thread {thread}"), e))?;
            Ok(Made { queue: queue.with_write_flags(write_flags), setup: Vec::new() })
        };
        let kind = "psync";
        return Launch {
            recipe,
            factory,
            kind,
            fallback_reason,
            effective,
            endpoint,
            build,
            limit,
            epilogue,
        }
        .go();
    }
    let factory = move |thread| {
        let queue = Pool::new(&files, buffers(depth, block_bytes, align.mem)?)
            .map_err(|e| Error::system(format!("cannot start the I/O threads of thread {thread}"), e))?;
        let setup = queue.setup();
        Ok(Made { queue: queue.with_write_flags(write_flags), setup })
    };
    Launch { recipe, factory, kind: "pool", fallback_reason, effective, endpoint, build, limit, epilogue }
        .go()
}

fn buffers(depth: u32, block_bytes: u32, align: u32) -> Result<Buffers> {
    Buffers::new(depth, block_bytes as usize, align)
        .map_err(|e| Error::system(format!("cannot get {depth} buffers of {block_bytes} bytes"), e))
}

/// Whether the blocks lie inside the target, and where direct I/O can reach them.
fn fits(recipe: &Recipe, target: &strata_io::Target, path: &Path) -> Result<()> {
    let end = recipe.pattern.end(0);
    if end > target.size_bytes {
        let what = format!(
            "the blocks end at byte {end}, the target has {}; shorten the segments",
            target.size_bytes
        );
        return Err(strata_io::Error::refused(what, path, libc::EINVAL).into());
    }
    let align = target.align.offset;
    if target.direct && !recipe.block_bytes.is_multiple_of(align) {
        let what = format!(
            "direct I/O needs blocks of a multiple of {align} bytes, bs is {}; choose such a bs, or direct = false",
            recipe.block_bytes
        );
        return Err(strata_io::Error::refused(what, path, libc::EINVAL).into());
    }
    match recipe.pattern.misaligned(0, u64::from(align)) {
        Some(offset) if target.direct => {
            let what = format!(
                "direct I/O needs offsets of a multiple of {align} bytes, a block lies at {offset}; move the segments"
            );
            Err(strata_io::Error::refused(what, path, libc::EINVAL).into())
        }
        _ => Ok(()),
    }
}
