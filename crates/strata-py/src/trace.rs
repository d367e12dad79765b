//! Block traces for Python.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors;
use crate::run::patient;

/// Longer texts are not read: 512 MiB.
const MOST_TEXT: u64 = 512 << 20;

/// A recording under way or done. Dropping it asks it to stop.
#[pyclass(frozen)]
pub struct Trace {
    inner: strata_trace::Recording,
}

fn raised(error: &io::Error) -> PyErr {
    if error.kind() == io::ErrorKind::InvalidData {
        return PyValueError::new_err(error.to_string());
    }
    // The system's number is lost where a path was put before its words; the kind names it well enough.
    let number = error.raw_os_error().unwrap_or(match error.kind() {
        io::ErrorKind::NotFound => libc::ENOENT,
        io::ErrorKind::PermissionDenied => libc::EACCES,
        io::ErrorKind::AlreadyExists => libc::EEXIST,
        io::ErrorKind::StorageFull => libc::ENOSPC,
        _ => libc::EIO,
    });
    PyOSError::new_err((number, error.to_string()))
}

#[pymethods]
impl Trace {
    /// Events read so far.
    fn events(&self) -> u64 {
        self.inner.events()
    }

    /// Ask for the end of the window; what was recorded so far is the result.
    fn stop(&self) {
        self.inner.stop();
    }

    /// The waterfall is of this process and of all that it starts.
    fn follow(&self, pid: i32) {
        self.inner.follow(pid);
    }

    /// The result as JSON when it comes within `timeout_s` seconds, else None. A pending signal whose handler raises
    /// (Ctrl-C) stops the recording, waits for its end, and is then raised; the result stays available.
    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<String>> {
        let result = patient(py, timeout_s, false, |timeout| self.inner.wait(timeout), || self.inner.stop())?;
        result.transpose().map_err(|e: Arc<io::Error>| raised(&e))
    }
}

/// Record block events of a tracing instance that is ready (JSON job). `ValueError` for a job or formats that are not
/// understood, `OSError` for what cannot be opened.
#[pyfunction]
pub fn trace(py: Python<'_>, job_json: &str) -> PyResult<Trace> {
    let job = serde_json::from_str(job_json).map_err(|e| PyValueError::new_err(format!("trace job: {e}")))?;
    let inner = errors::detached(py, || strata_trace::start(job))?.map_err(|e| raised(&e))?;
    Ok(Trace { inner })
}

/// The figures of a saved trace, or of text in blkparse's form, as JSON. `ValueError` where it is neither.
#[pyfunction]
pub fn trace_read(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    errors::detached(py, || read(&path))?.map_err(|e| raised(&e))
}

fn read(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut begin = Vec::new();
    Read::by_ref(&mut file).take(64).read_to_end(&mut begin)?;
    let mut whole = begin.as_slice().chain(BufReader::new(file));
    if strata_trace::saved::is_ours(&begin) {
        let (mut source, recording) = strata_trace::saved::read(&mut whole)?;
        let figures = strata_trace::summarise(&mut source);
        return Ok(json!({"form": "strata", "figures": figures, "recording": recording}).to_string());
    }
    let mut bytes = Vec::new();
    whole.take(MOST_TEXT + 1).read_to_end(&mut bytes)?;
    let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if bytes.len() as u64 > MOST_TEXT {
        return Err(bad(format!("text of more than {} MiB", MOST_TEXT >> 20)));
    }
    let mut text = strata_trace::blkparse::read(&String::from_utf8_lossy(&bytes)).map_err(bad)?;
    let figures = strata_trace::summarise(&mut text.source);
    let other = text.other_actions;
    Ok(json!({"form": "blkparse", "figures": figures, "recording": null, "other_actions": other}).to_string())
}
