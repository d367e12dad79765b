//! Why a verification did not begin, or has no result.

use std::fmt;
use std::io;
use std::path::Path;

/// Result of what can refuse a job.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no verification, or no result.
#[derive(Debug)]
pub enum Error {
    /// The job cannot be done as it stands: every problem found.
    Job(Vec<String>),
    /// The system refused something.
    Io(strata_io::Error),
    /// A bug of ours.
    Bug(String),
}

impl Error {
    pub(crate) fn at(what: impl Into<String>, path: &Path, source: io::Error) -> Self {
        Self::Io(strata_io::Error::new(what, path, source))
    }

    pub(crate) fn system(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io(strata_io::Error { what: what.into(), path: None, source })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(problems) => write!(f, "refused: {}", problems.join("; ")),
            Self::Io(e) => write!(f, "{e}"),
            Self::Bug(what) => write!(f, "the verification failed: {what}; please report this with the job"),
        }
    }
}

impl std::error::Error for Error {}

impl From<strata_io::Error> for Error {
    fn from(e: strata_io::Error) -> Self {
        Self::Io(e)
    }
}
