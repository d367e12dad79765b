//! Opening what is verified, and giving each thread its queue over it.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use strata_io::{Buffers, Files, Kind, OpenSpec, Pool, Queue, Uring};
use strata_proto::client::{self, NbdQueue, Uri};
use strata_proto::codec::consts;

use crate::error::{Error, Result};
use crate::job::{EngineChoice, Job, Mode, Target};
use crate::remote::{self, Remote};

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
    match &job.target {
        Target::File { path, fd, direct, dsync } => {
            disk(job, launch, (path, *fd), Kind::File, *direct, *dsync)
        }
        Target::Block { path, fd, direct, dsync, .. } => {
            disk(job, launch, (path, *fd), Kind::Block, *direct, *dsync)
        }
        Target::Nbd { uri, connections, dsync } => nbd(job, launch, uri, *connections, *dsync),
        Target::Nfs { uri, connections, dsync } => {
            remote::nfs(job, launch, &Remote { uri, connections: *connections, dsync: *dsync })
        }
        Target::Iscsi { uri, connections, dsync } => {
            remote::iscsi(job, launch, &Remote { uri, connections: *connections, dsync: *dsync })
        }
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
                return Err(Error::at(what, path, e));
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

fn nbd<L: Launch>(job: &Job, launch: L, uri: &str, connections: u32, dsync: bool) -> Result<L::Done> {
    let uri: Uri = uri.parse().map_err(|e| Error::Job(vec![format!("target.uri: {e}")]))?;
    let threads = job.threads;
    let connections = connections.max(uri.connections.unwrap_or(1)).max(threads);
    let (slots, block) = (job.slots(), job.bs);
    let patience = Duration::from_nanos(job.stuck_after_ns);
    let open = move |uri: &Uri, depth, connections| {
        let spec = client::OpenSpec { depth, block, connections, dsync };
        NbdQueue::open_within(uri, spec, patience).map_err(refused)
    };
    // Asked once before any thread starts, to know what the export is.
    let first = open(&uri, 1, 1)?;
    let export = first.export();
    let refuse = |errno: i32, why: String| {
        let source = std::io::Error::from_raw_os_error(errno);
        Err(Error::Io(strata_io::Error { what: format!("{uri}: {why}"), path: None, source }))
    };
    if connections > 1 && !export.has(consts::TX_CAN_MULTI_CONN) {
        let why = "the server does not promise one coherent disk over several connections (CAN_MULTI_CONN)";
        return refuse(
            libc::EOPNOTSUPP,
            format!("{why}, {connections} are needed; use connections=1, threads=1"),
        );
    }
    if job.mode != Mode::Check && export.has(consts::TX_READ_ONLY) {
        return refuse(libc::EROFS, "the export is read-only".to_owned());
    }
    let end = job.first_byte + job.blocks * u64::from(job.bs);
    if end > export.size_bytes {
        let size = export.size_bytes;
        return refuse(
            libc::EINVAL,
            format!("the blocks end at byte {end}, the export has {size}; use a smaller size"),
        );
    }
    let align = u64::from(export.blocks.map_or(1, |blocks| blocks.minimum));
    if !(job.first_byte | u64::from(job.bs)).is_multiple_of(align) {
        return refuse(libc::EINVAL, format!("it takes multiples of {align} bytes; choose such a bs"));
    }
    drop(first);
    let engine = Engine { kind: "nbd", fallback_reason: None, direct: false, dsync, connections };
    launch.go(engine, move |thread| {
        let own = connections / threads + u32::from(thread < connections % threads);
        open(&uri, slots, own)
    })
}

pub(crate) fn refused(error: std::io::Error) -> Error {
    let source = std::io::Error::from_raw_os_error(strata_proto::errno(&error));
    Error::Io(strata_io::Error { what: error.to_string(), path: None, source })
}
