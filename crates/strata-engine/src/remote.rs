//! What a job says of a target behind a network, whatever is spoken there.

use std::path::PathBuf;

use crate::error::Error;
use crate::job::Sync;

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

impl Remote<'_> {
    pub(crate) fn namespace(&self) -> Option<PathBuf> {
        self.netns.map(Into::into)
    }

    /// Connections of thread number `thread` out of `threads`, when there are `all` together.
    pub(crate) fn share(all: u32, thread: u32, threads: u32) -> u32 {
        all / threads + u32::from(thread < all % threads)
    }
}

/// What the client says, as an error of a run.
pub(crate) fn refused(error: std::io::Error) -> Error {
    let source = std::io::Error::from_raw_os_error(strata_proto::errno(&error));
    Error::Io(strata_io::Error { what: error.to_string(), path: None, source })
}
