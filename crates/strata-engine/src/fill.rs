//! Writing a whole test file once, so that nothing unwritten, empty or compressible is measured later.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use strata_io::{Buffers, Change, EngineChoice, Kind, beside};
use strata_pattern::{BlockMap, Mix, Order, Pattern, Rng, Segment, fill_incompressible};

use crate::backend::{self, Spec};
use crate::collector::Epilogue;
use crate::control::Reason;
use crate::error::{Error, Result};
use crate::job::Sync;
use crate::outcome::BuildInfo;
use crate::run::Run;
use crate::worker::{BufferFill, Recipe};

/// Room for the mark at the head of a file, in bytes.
const HEAD_BYTES: usize = 4096;
pub(crate) const DEPTH: u32 = 8;
/// As good as for ever: a fill ends when it is done.
const NO_END_NS: u64 = 365 * 86_400 * 1_000_000_000;
const DRAIN_NS: u64 = 30_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// A file to fill.
#[derive(Clone, Debug)]
pub struct FillSpec {
    /// An existing regular file of at least `size_bytes`.
    pub path: PathBuf,
    /// A descriptor of it that is held open: it is opened beside that, and not by its name.
    pub fd: Option<RawFd>,
    /// How much of it, from the beginning.
    pub size_bytes: u64,
    /// Seed of the data.
    pub seed: u64,
    /// The first bytes (at most 4096); the rest of the first 4096 is random.
    pub header: Vec<u8>,
    /// Past the page cache.
    pub direct: bool,
}

/// Fill a file.
///
/// The first block is written before this returns, header included, so that the file is never without its mark;
/// then all other whole blocks by the load loop, in sequence; at the end what is left, and `fdatasync`. The
/// result counts the blocks of the loop only, and its `stop_reason` is `ios` when the file is full.
///
/// # Errors
/// The sizes do not fit, the file cannot be opened as asked, or the first block cannot be written.
pub fn fill(spec: FillSpec, build: BuildInfo) -> Result<Run> {
    let block_bytes = block_bytes(spec.size_bytes, &spec.header)?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_CLOEXEC | if spec.direct { libc::O_DIRECT } else { 0 })
        .open(beside(&spec.path, spec.fd))
        .map_err(|e| strata_io::Error::new("cannot open for filling", &spec.path, e))?;
    let blocks = spec.size_bytes / u64::from(block_bytes);
    let whole = blocks * u64::from(block_bytes);
    let recipe = recipe(whole, spec.seed, block_bytes)?;
    let length = file.metadata().map_err(|e| strata_io::Error::new("cannot stat", &spec.path, e))?.len();
    if length < spec.size_bytes {
        let what = format!("cannot fill {} bytes of a file of {length}; extend it first", spec.size_bytes);
        return Err(strata_io::Error::refused(what, &spec.path, libc::EINVAL).into());
    }
    let mut edge = Edge::new(&file, &spec.path, block_bytes, spec.seed)?;
    edge.write(0, block_bytes as usize, &spec.header)?;

    let (path, seed, direct, tail) = (spec.path.clone(), spec.seed, spec.direct, spec.size_bytes - whole);
    let epilogue: Epilogue = Arc::new(move |reason| finish(&file, &path, seed, direct, whole, tail, reason));
    let target =
        Spec { path: spec.path, fd: spec.fd, kind: Kind::File, direct: spec.direct, sync: Sync::None };
    backend::disk(
        &[target],
        EngineChoice::Auto,
        Some(Change::default()),
        recipe,
        build,
        Some((blocks - 1, Reason::Ios)),
        Some(epilogue),
    )
}

/// All blocks of the first `whole` bytes but the first one, in their order, each once, by one thread.
pub(crate) fn recipe(whole: u64, seed: u64, block_bytes: u32) -> Result<Recipe> {
    let step = u64::from(block_bytes);
    let map = BlockMap::new(&[Segment { start: step, length: whole - step, target: step }], step)
        .ok_or_else(|| Error::Job(vec!["size_bytes: too small to fill".to_owned()]))?;
    Ok(Recipe {
        pattern: Pattern::new(map, Order::Sequential, Mix::Write, seed),
        seed,
        threads: 1,
        depth: DEPTH,
        batch: DEPTH,
        block_bytes,
        rate: None,
        limits: None,
        ramp_ns: 0,
        runtime_ns: NO_END_NS,
        interval_ns: SECOND_NS,
        stop_on_error: true,
        pin: None,
        fill_buffer: BufferFill::Refill,
        drain_ns: DRAIN_NS,
        start_at_ns: None,
        lease_ns: None,
    })
}

/// Bytes of the blocks with which a file of `size_bytes` that begins with `header` is filled.
pub(crate) fn block_bytes(size_bytes: u64, header: &[u8]) -> Result<u32> {
    let mut problems = Vec::new();
    if header.len() > HEAD_BYTES {
        problems.push(format!("header: {} bytes, at most {HEAD_BYTES} fit", header.len()));
    }
    // Enough blocks to keep the queue busy, else smaller ones.
    let fitting = [1 << 20, 128 << 10, 4096].into_iter().find(|&b| size_bytes >= u64::from(b) * 16);
    let block = fitting.or((size_bytes >= 8192).then_some(4096));
    if block.is_none() {
        problems.push(format!("size_bytes: {size_bytes} is below the smallest file of 8192 bytes"));
    }
    match block {
        Some(block) if problems.is_empty() => Ok(block),
        _ => Err(Error::Job(problems)),
    }
}

fn finish(
    file: &File,
    path: &Path,
    seed: u64,
    direct: bool,
    whole: u64,
    tail: u64,
    reason: Reason,
) -> Result<()> {
    if reason != Reason::Ios {
        return Ok(());
    }
    let fail = |what: &'static str| move |e: io::Error| strata_io::Error::new(what, path, e);
    if tail > 0 {
        // Less than a block: direct as far as whole pages go, the rest through the page cache and out of it again.
        let pages = if direct { tail / HEAD_BYTES as u64 * HEAD_BYTES as u64 } else { tail };
        Edge::new(file, path, (pages as u32).max(1), seed ^ 1)?.write(whole, pages as usize, &[])?;
        let rest = (tail - pages) as usize;
        if rest > 0 {
            let cached = OpenOptions::new()
                .write(true)
                .open(beside(path, Some(file.as_raw_fd())))
                .map_err(fail("cannot open for filling"))?;
            Edge::new(&cached, path, rest as u32, seed ^ 2)?.write(whole + pages, rest, &[])?;
            cached.sync_data().map_err(fail("cannot write out"))?;
            let _one_page_stays = rustix::fs::fadvise(&cached, 0, None, rustix::fs::Advice::DontNeed);
        }
    }
    file.sync_data().map_err(|e| fail("cannot write out")(e).into())
}

/// A block written outside the loop.
struct Edge<'a> {
    file: &'a File,
    path: &'a Path,
    buffer: Buffers,
    rng: Rng,
}

impl<'a> Edge<'a> {
    fn new(file: &'a File, path: &'a Path, bytes: u32, seed: u64) -> Result<Self> {
        let buffer =
            Buffers::new(1, bytes as usize, 1).map_err(|e| Error::system("cannot get a buffer", e))?;
        Ok(Self { file, path, buffer, rng: Rng::new(seed, 3 << 32) })
    }

    fn write(&mut self, offset: u64, length: usize, head: &[u8]) -> Result<()> {
        let data = &mut self.buffer.slot(0)[..length];
        fill_incompressible(data, &mut self.rng);
        data[..head.len()].copy_from_slice(head);
        self.file.write_all_at(data, offset).map_err(|e| {
            strata_io::Error::new(format!("cannot write {length} bytes at {offset}"), self.path, e).into()
        })
    }
}
