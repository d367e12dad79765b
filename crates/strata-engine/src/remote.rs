//! What a job says of a target behind a network, whatever is spoken there.

use std::path::PathBuf;

use crate::error::Error;
use crate::job::{Sync, Target};

/// A remote target as it is asked for.
pub(crate) struct Remote<'a> {
    pub uri: &'a str,
    /// Where it is dialled from.
    pub netns: Option<&'a str>,
    /// At least so many connections.
    pub connections: u32,
    pub sync: Sync,
    pub write: bool,
}

impl<'a> Remote<'a> {
    /// What the job says of `target`, where that is remote.
    pub(crate) fn of(target: &'a Target, write: bool) -> Option<Self> {
        let (Target::Nbd { uri, connections, sync, netns }
        | Target::Nfs { uri, connections, sync, netns }
        | Target::Iscsi { uri, connections, sync, netns }) = target
        else {
            return None;
        };
        Some(Self { uri, netns: netns.as_deref(), connections: *connections, sync: *sync, write })
    }
}

impl Remote<'_> {
    pub(crate) fn namespace(&self) -> Option<PathBuf> {
        self.netns.map(Into::into)
    }

    /// Connections of thread number `thread` out of `threads`, when there are `all` together.
    pub(crate) fn share(all: u32, thread: u32, threads: u32) -> u32 {
        all / threads + u32::from(thread < all % threads)
    }
}

/// A refusal of ours, named with the address.
pub(crate) fn refusal<T>(uri: &impl std::fmt::Display, errno: i32, why: &str) -> Result<T, Error> {
    let source = std::io::Error::from_raw_os_error(errno);
    Err(Error::Io(strata_io::Error { what: format!("{uri}: {why}"), path: None, source }))
}

/// What the client says, as an error of a run.
pub(crate) fn refused(error: std::io::Error) -> Error {
    let source = std::io::Error::from_raw_os_error(strata_proto::errno(&error));
    Error::Io(strata_io::Error { what: error.to_string(), path: None, source })
}
