//! Why a run did not begin, or has no result.

use std::fmt;

/// Result of what can refuse a job.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no run, or no result.
#[derive(Debug)]
pub enum Error {
    /// The job cannot be run as it stands: every problem found, one line each.
    Job(Vec<String>),
    /// The system refused something.
    Io(strata_io::Error),
    /// A bug of ours: a thread panicked.
    Bug(String),
}

impl Error {
    /// The system refused `what`, on no path in particular.
    pub(crate) fn system(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io(strata_io::Error { what: what.into(), path: None, source })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(problems) => write!(f, "job refused: {}", problems.join("; ")),
            Self::Io(e) => write!(f, "{e}"),
            Self::Bug(what) => write!(f, "the engine failed: {what}; please report this with the job"),
        }
    }
}

impl std::error::Error for Error {}

impl From<strata_io::Error> for Error {
    fn from(e: strata_io::Error) -> Self {
        Self::Io(e)
    }
}
