//! Errors that say what was tried, where, and why it failed.

use std::io;
use std::path::{Path, PathBuf};

/// Result of anything in this crate that touches a path.
pub type Result<T> = std::result::Result<T, Error>;

/// A refused operation on a path.
#[derive(Debug)]
pub struct Error {
    /// What was tried, why it failed, and the next step.
    pub what: String,
    /// The path it was tried on, when there is one.
    pub path: Option<PathBuf>,
    /// What the system said.
    pub source: io::Error,
}

impl Error {
    /// The system refused `what`, on no path in particular.
    #[must_use]
    pub fn system(what: impl Into<String>, source: io::Error) -> Self {
        Self { what: what.into(), path: None, source }
    }

    /// `what` failed on `path` with `source`.
    #[must_use]
    pub fn new(what: impl Into<String>, path: &Path, source: io::Error) -> Self {
        Self { what: what.into(), path: Some(path.to_owned()), source }
    }

    /// Refused by us, not by the system; `errno` is the code closest in meaning.
    #[must_use]
    pub fn refused(what: impl Into<String>, path: &Path, errno: i32) -> Self {
        Self::new(what, path, io::Error::from_raw_os_error(errno))
    }

    /// The errno, or `EIO` when the system gave none.
    #[must_use]
    pub fn errno(&self) -> i32 {
        self.source.raw_os_error().unwrap_or(libc::EIO)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.what)?;
        if let Some(path) = &self.path {
            write!(f, " ({})", path.display())?;
        }
        write!(f, ": {}", self.source)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Why there is no run, or no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The job cannot be run as it stands: every problem found, one line each.
    #[error("job refused: {}", .0.join("; "))]
    Job(Vec<String>),
    /// The system refused something.
    #[error("{0}")]
    Io(#[from] Error),
    /// A bug of ours: a thread panicked.
    #[error("{0}")]
    Bug(String),
}

impl RunError {
    /// The system refused `what`, on no path in particular.
    #[must_use]
    pub fn system(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io(Error::system(what, source))
    }

    /// This part of Strata failed, of which users are to tell.
    #[must_use]
    pub fn bug(part: &str, what: impl std::fmt::Display) -> Self {
        Self::Bug(format!("the {part} failed: {what}; please report this with the job"))
    }
}
