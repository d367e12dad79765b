//! Opening what is behind a network for a verification, over the queue of its scheme.

use std::time::Duration;

use strata_remote::{Load, Need, Place, Remote, Scheme, refused};

use crate::error::{Error, Result};
use crate::job::{self, Job, Mode};
use crate::targets::{Engine, Launch};

pub(crate) fn open<S: Scheme, L: Launch>(job: &Job, launch: L, asked: &job::Remote) -> Result<L::Done> {
    let &job::Remote { ref uri, connections, dsync } = asked;
    let place = Place { uri: uri.clone(), netns: None, password: None };
    let load = Load {
        threads: job.threads,
        depth: job.slots(),
        block: job.bs,
        connections,
        write: job.mode != Mode::Check,
        dsync,
        dsync_open: dsync,
        unbuffered: false,
        patience: Duration::from_nanos(job.stuck_after_ns),
    };
    let remote = Remote::<S>::open(&place, load)?;
    fits(job, &remote)?;
    let connections = remote.load.connections;
    let engine = Engine { kind: S::NAME, fallback_reason: None, direct: false, dsync, connections };
    launch.go(engine, move |thread| remote.queue(thread).map_err(refused))
}

fn fits<S: Scheme>(job: &Job, remote: &Remote<S>) -> Result<()> {
    let (facts, uri) = (remote.there.facts(), &remote.uri);
    let need = Need {
        connections: remote.load.connections,
        write: remote.load.write,
        writes: "",
        flush: false,
        end: job.first_byte + job.blocks * u64::from(job.bs),
        shorter: "use a smaller size",
    };
    facts.check(uri, &need).map_err(refused)?;
    let align = facts.align;
    if (job.first_byte | u64::from(job.bs)).is_multiple_of(align.into()) {
        return Ok(());
    }
    let why = format!("{uri}: it takes multiples of {align} bytes; choose such a bs");
    Err(Error::system(why, std::io::Error::from_raw_os_error(libc::EINVAL)))
}
