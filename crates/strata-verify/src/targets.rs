//! Opening what is verified, and giving each thread its queue over it.

use std::os::fd::RawFd;
use std::sync::Arc;

use strata_io::{Buffers, EngineChoice, Files, Kind, OpenSpec, Pool, Queue, Uring};
use strata_remote::dispatch;

use crate::error::{Error, Result};
use crate::job::{Job, Mode, Target};
use crate::remote;

/// What takes a factory of queues to a running verification.
pub(crate) trait Launch {
    type Done;

    /// `make(thread)` gives the queue of a thread, with [`Job::slots`], in that thread.
    fn go<Q: Queue + 'static>(
        self,
        engine: Engine,
        make: impl Fn(u32) -> Result<Q> + Send + Sync + 'static,
    ) -> Result<Self::Done>;
}

/// What carries the I/Os.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Engine {
    pub kind: &'static str,
    /// Why it is not the one that is tried first.
    pub fallback_reason: Option<String>,
    pub direct: bool,
    pub dsync: bool,
    pub connections: u32,
}

/// Open the target of `job` and launch.
pub(crate) fn open<L: Launch>(job: &Job, launch: L) -> Result<L::Done> {
    if let Some((kind, asked)) = job.target.remote() {
        return dispatch!(kind, S => remote::open::<S, L>(job, launch, asked));
    }
    match &job.target {
        Target::File { path, fd, direct, dsync } => {
            disk(job, launch, (path, *fd), Kind::File, *direct, *dsync)
        }
        Target::Block { path, fd, direct, dsync, .. } => {
            disk(job, launch, (path, *fd), Kind::Block, *direct, *dsync)
        }
        _ => Err(Error::bug("verification", "a target of no backend")),
    }
}

fn disk<L: Launch>(
    job: &Job,
    launch: L,
    (path, fd): (&std::path::Path, Option<RawFd>),
    kind: Kind,
    direct: bool,
    dsync: bool,
) -> Result<L::Done> {
    let write = job.mode != Mode::Check;
    let target = strata_io::open(&OpenSpec { path, fd, kind, direct, dsync, write })?;
    let refuse = |what: String| Err(strata_io::Error::refused(what, path, libc::EINVAL).into());
    let end = job.first_byte + job.blocks * u64::from(job.bs);
    if end > target.size_bytes {
        return refuse(format!(
            "the blocks end at byte {end}, the target has {}; use a smaller size",
            target.size_bytes
        ));
    }
    let align = target.align;
    let step = u64::from(align.offset);
    if target.direct && !(job.first_byte | u64::from(job.bs)).is_multiple_of(step) {
        return refuse(format!(
            "direct I/O needs blocks at multiples of {step} bytes; choose such a bs, or buffered"
        ));
    }
    let engine = |kind, fallback_reason| Engine {
        kind,
        fallback_reason,
        direct: target.direct,
        dsync: target.dsync,
        connections: 1,
    };
    let (slots, bs) = (job.slots(), job.bs);
    let file = Arc::new(Files::from(target.file));
    let mut refused = None;
    if job.engine != EngineChoice::Pool {
        // Tried with all its slots before any thread starts, to know whether to fall back.
        match Uring::new(Arc::clone(&file), buffers(slots, bs, align.mem)?) {
            Ok(tried) => {
                drop(tried);
                return launch.go(engine("io_uring", None), move |thread| {
                    Uring::new(Arc::clone(&file), buffers(slots, bs, align.mem)?)
                        .map_err(|e| Error::system(format!("cannot set up the ring of thread {thread}"), e))
                });
            }
            Err(e) if job.engine == EngineChoice::IoUring => {
                let what = "io_uring was requested but is refused; use engine = \"auto\" or \"pool\"";
                return Err(strata_io::Error::new(what, path, e).into());
            }
            Err(e) => refused = Some(format!("io_uring is refused: {e}")),
        }
    }
    launch.go(engine("pool", refused), move |thread| {
        Pool::new(&file, buffers(slots, bs, align.mem)?)
            .map_err(|e| Error::system(format!("cannot start the I/O threads of thread {thread}"), e))
    })
}

fn buffers(slots: u32, bytes: u32, align: u32) -> Result<Buffers> {
    Buffers::new(slots, bytes as usize, align)
        .map_err(|e| Error::system(format!("cannot get {slots} buffers of {bytes} bytes"), e))
}
