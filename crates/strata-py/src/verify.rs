//! Verification of data for Python.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::json;
use strata_verify::Job;

use crate::errors;
use crate::run::{begun, patient, settled};

/// A verification in progress or done. Dropping it asks it to stop.
#[pyclass(frozen)]
pub struct Verification {
    inner: strata_verify::Run,
    remote: bool,
}

#[pymethods]
impl Verification {
    /// How far it is, as JSON.
    fn poll(&self, py: Python<'_>) -> PyResult<String> {
        errors::detached(py, || self.inner.poll())
    }

    /// Ask for a clean end; what was verified so far is the result.
    fn stop(&self) {
        self.inner.stop();
    }

    /// The result as JSON when it comes within `timeout_s` seconds, else None. A pending signal whose handler
    /// raises (Ctrl-C) stops the verification, waits for its threads, and is then raised; the result stays available.
    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<String>> {
        let wait = |timeout| self.inner.wait(timeout);
        settled(patient(py, timeout_s, self.remote, wait, || self.inner.stop())?)
    }

    /// The result as JSON when it is over, else None.
    fn result(&self) -> PyResult<Option<String>> {
        settled(self.inner.wait(Duration::ZERO))
    }
}

/// Start a verification (JSON, schema 1). `ValueError` when it is refused, `OSError` when its target or journal is.
#[pyfunction]
pub fn verify(py: Python<'_>, job_json: &str) -> PyResult<Verification> {
    let job = Job::parse(job_json).map_err(|e| errors::run(&e))?;
    let remote = job.target.remote().is_some();
    Ok(Verification { inner: begun(py, remote, move || strata_verify::start(job))?, remote })
}

/// What a journal is about, as JSON: its head, and how many blocks are acknowledged, in flight and not flushed.
/// `OSError` when it cannot be read or is none.
#[pyfunction]
pub fn verify_journal(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let seen = errors::detached(py, || strata_verify::look(&path))?.map_err(|e| errors::run(&e))?;
    let (acknowledged, in_flight, unflushed) = seen.states.count();
    errors::json(&json!({
        "head": seen.head,
        "acknowledged": acknowledged,
        "in_flight": in_flight,
        "unflushed": unflushed,
        "cut_short": seen.cut_short,
    }))
}
