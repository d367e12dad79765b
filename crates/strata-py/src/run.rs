//! Runs for Python, and the one place where waiting releases the GIL and Ctrl-C becomes a stop request.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use strata_engine::{FillSpec, Job};
use strata_io::{Outcome, RunError};

use crate::build_info::info;
use crate::errors::{self, LOOK};

/// How long the end of what drives a server is waited for when a signal is about to be raised.
const LEAVING: Duration = Duration::from_secs(1);

/// A run in progress or done. Dropping it asks the run to stop.
#[pyclass(frozen)]
pub struct Run {
    pub inner: strata_engine::Run,
    pub remote: bool,
}

/// A result that came, or did not, as Python gets it.
pub fn settled(result: Option<Outcome<RunError>>) -> PyResult<Option<String>> {
    result.transpose().map_err(|e| errors::run(&e))
}

/// Begin something. Only a server can let it wait; what is opened here is opened while the caller holds what it checked.
pub fn begun<T: Send + 'static>(
    py: Python<'_>,
    remote: bool,
    begin: impl FnOnce() -> Result<T, RunError> + Send + 'static,
) -> PyResult<T> {
    let begun = if remote { errors::apart(py, begin)? } else { errors::detached(py, begin)? };
    begun.map_err(|e| errors::run(&e))
}

/// Wait for `wait` to give something, with the GIL released and an eye on signals: one whose handler raises (Ctrl-C)
/// calls `stop`, the end is waited for, and then it is raised. The end of what is `remote` is waited for a second: what a
/// server does not answer is no memory of ours that it could still write to.
pub fn patient<T: Send>(
    py: Python<'_>,
    timeout_s: f64,
    remote: bool,
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
            while errors::detached(py, || wait(LEAVING))?.is_none() && !remote {}
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
    /// With `hurry` what a server has not answered a second later is given up.
    #[pyo3(signature = (*, with_interval = false, hurry = false))]
    fn stop(&self, with_interval: bool, hurry: bool) {
        if hurry && self.remote {
            self.inner.shorten_drain();
        }
        if with_interval {
            self.inner.stop_with_interval();
        } else {
            self.inner.stop();
        }
    }

    /// Begin the job's lease anew; False when it is over. Without one there is nothing to renew: True.
    fn renew(&self) -> bool {
        self.inner.renew()
    }

    /// The result as JSON when it comes within `timeout_s` seconds, else None. A pending signal whose handler
    /// raises (Ctrl-C) stops the run, waits for its threads, and is then raised; the result stays available.
    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<String>> {
        let wait = |timeout| self.inner.wait(timeout);
        settled(patient(py, timeout_s, self.remote, wait, || self.inner.stop())?)
    }

    /// The result as JSON when the run is over, else None.
    fn result(&self) -> PyResult<Option<String>> {
        settled(self.inner.wait(Duration::ZERO))
    }
}

/// Start a job (JSON, schema 1). `ValueError` when it is refused, `OSError` when its target is.
#[pyfunction]
pub fn start(py: Python<'_>, job_json: &str) -> PyResult<Run> {
    let job = Job::parse(job_json).map_err(|e| errors::run(&e))?;
    let remote = job.is_remote();
    Ok(Run { inner: begun(py, remote, move || strata_engine::start(&job, info()))?, remote })
}

/// Write an existing file once with incompressible data behind `header`, then fdatasync. It is opened beside the
/// descriptor `fd`, where one is given, and not by its name.
#[pyfunction]
#[pyo3(signature = (path, size_bytes, seed, header, direct, fd = None))]
pub fn fill(
    py: Python<'_>,
    path: PathBuf,
    size_bytes: u64,
    seed: u64,
    header: Vec<u8>,
    direct: bool,
    fd: Option<i32>,
) -> PyResult<Run> {
    let spec = FillSpec { path, fd, size_bytes, seed, header, direct };
    Ok(Run { inner: begun(py, false, move || strata_engine::fill(spec, info()))?, remote: false })
}
