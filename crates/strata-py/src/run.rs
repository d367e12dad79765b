//! Runs for Python, and the one place where waiting releases the GIL and Ctrl-C becomes a stop request.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use strata_engine::{FillSpec, Job};

use crate::build_info::info;
use crate::errors;

/// Longest wait without a look at pending signals.
const LOOK: Duration = Duration::from_millis(50);

/// A run in progress or done. Dropping it asks the run to stop.
#[pyclass(frozen)]
pub struct Run {
    inner: strata_engine::Run,
}

impl Run {
    pub fn of(inner: strata_engine::Run) -> Self {
        Self { inner }
    }
}

type Settled = Option<Result<String, std::sync::Arc<strata_engine::Error>>>;

fn settled(result: Settled) -> PyResult<Option<String>> {
    result.transpose().map_err(|e| errors::engine(&e))
}

/// Wait for `wait` to give something, with the GIL released and an eye on signals: one whose handler raises (Ctrl-C)
/// calls `stop`, the end is waited for, and then it is raised.
pub fn patient<T: Send>(
    py: Python<'_>,
    timeout_s: f64,
    wait: impl Fn(Duration) -> Option<T> + Sync,
    stop: impl Fn(),
) -> PyResult<Option<T>> {
    if timeout_s.is_nan() || timeout_s < 0.0 {
        return Err(PyValueError::new_err(format!("timeout_s: {timeout_s} is not a time")));
    }
    // Beyond what a Duration holds, an hour at a time is as good as for ever.
    let timeout = Duration::try_from_secs_f64(timeout_s).unwrap_or(Duration::from_secs(3600));
    let begun = Instant::now();
    loop {
        let left = timeout.saturating_sub(begun.elapsed());
        let result = errors::detached(py, || wait(left.min(LOOK)))?;
        if let Err(raised) = py.check_signals() {
            stop();
            // Bounded by the drain, except for a thread inside a blocking call that never returns.
            while errors::detached(py, || wait(Duration::from_secs(1)))?.is_none() {}
            return Err(raised);
        }
        if result.is_some() || begun.elapsed() >= timeout {
            return Ok(result);
        }
    }
}

#[pymethods]
impl Run {
    /// Intervals finished since the last call, as a JSON list.
    fn poll(&self, py: Python<'_>) -> PyResult<String> {
        errors::detached(py, || self.inner.poll())
    }

    /// Ask for a clean end; what was measured so far is the result.
    /// With `with_interval` the interval that is running is measured to its end first.
    #[pyo3(signature = (*, with_interval = false))]
    fn stop(&self, with_interval: bool) {
        if with_interval {
            self.inner.stop_with_interval();
        } else {
            self.inner.stop();
        }
    }

    /// The result as JSON when it comes within `timeout_s` seconds, else None. A pending signal whose handler
    /// raises (Ctrl-C) stops the run, waits for its threads, and is then raised; the result stays available.
    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<String>> {
        settled(patient(py, timeout_s, |timeout| self.inner.wait(timeout), || self.inner.stop())?)
    }

    /// The result as JSON when the run is over, else None.
    fn result(&self) -> PyResult<Option<String>> {
        settled(self.inner.result())
    }
}

/// Start a job (JSON, schema 1). `ValueError` when it is refused, `OSError` when its target is.
#[pyfunction]
pub fn start(py: Python<'_>, job_json: &str) -> PyResult<Run> {
    let begin = || Job::parse(job_json).and_then(|job| strata_engine::start(&job, info()));
    let inner = errors::detached(py, begin)?.map_err(|e| errors::engine(&e))?;
    Ok(Run { inner })
}

/// Write an existing file once with incompressible data behind `header`, then fdatasync.
#[pyfunction]
pub fn fill(
    py: Python<'_>,
    path: PathBuf,
    size_bytes: u64,
    seed: u64,
    header: Vec<u8>,
    direct: bool,
) -> PyResult<Run> {
    let spec = FillSpec { path, size_bytes, seed, header, direct };
    let inner =
        errors::detached(py, || strata_engine::fill(spec, info()))?.map_err(|e| errors::engine(&e))?;
    Ok(Run { inner })
}
