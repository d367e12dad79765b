//! Why there is no run, or no result.

pub use strata_io::RunError as Error;

/// Result of what can refuse a job.
pub type Result<T> = std::result::Result<T, Error>;
