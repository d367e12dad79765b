//! Block traces for Python.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;
use strata_trace::path::Traced;
use strata_trace::path::join::{self, Stated};
use strata_trace::saved::Saved;

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

/// The figures of a saved trace, or of text in blkparse's form, as JSON; with `waterfall` also that. `server`: a trace that
/// was saved on the server meanwhile, whose clock may be stated as (ns ahead, give or take). `ValueError` where a file is
/// neither, or both do not fit each other.
#[pyfunction]
#[pyo3(signature = (path, waterfall=false, server=None, stated=None))]
pub fn trace_read(
    py: Python<'_>,
    path: PathBuf,
    waterfall: bool,
    server: Option<PathBuf>,
    stated: Option<(i64, u64)>,
) -> PyResult<String> {
    let stated = stated.map(|(offset_ns, bound_ns)| Stated { offset_ns, bound_ns });
    errors::detached(py, || read(&path, waterfall, server.as_deref(), stated))?.map_err(|e| raised(&e))
}

fn bad(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

fn saved(path: &Path) -> io::Result<Saved> {
    let saved = strata_trace::saved::read(&mut BufReader::new(File::open(path)?));
    let mut saved = saved.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
    saved.source.events.sort_by_key(|e| e.at_ns);
    Ok(saved)
}

fn read(path: &Path, wanted: bool, server: Option<&Path>, stated: Option<Stated>) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut begin = Vec::new();
    Read::by_ref(&mut file).take(64).read_to_end(&mut begin)?;
    let mut whole = begin.as_slice().chain(BufReader::new(file));
    if !strata_trace::saved::is_ours(&begin) {
        return if wanted || server.is_some() {
            Err(bad("only a trace that was saved with --waterfall holds one"))
        } else {
            text(&mut whole)
        };
    }
    let mut own = strata_trace::saved::read(&mut whole)?;
    own.source.events.sort_by_key(|e| e.at_ns);
    let began = own.recording["began_ns"].as_u64().unwrap_or(0);
    let mut clock = None;
    if let Some(server) = server {
        let other = saved(server)?;
        let (joined, found) = join::join(own, other, stated).map_err(bad)?;
        (own, clock) = (joined, Some(found));
    }
    let fallen = match &own.way {
        Some(way) if wanted || server.is_some() => {
            let mut traced = Traced::of(&own.source, way, began);
            traced.clock = clock.as_ref();
            Some(strata_trace::path::waterfall(&traced))
        }
        None if wanted => return Err(bad("it holds no waterfall; save it with --waterfall")),
        _ => None,
    };
    own.source.events.iter_mut().for_each(|e| e.pid = join::own(e.pid));
    let figures = strata_trace::summarise(&mut own.source);
    let (form, recording) = ("strata", own.recording);
    Ok(json!({"form": form, "figures": figures, "recording": recording, "waterfall": fallen}).to_string())
}

fn text(whole: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    whole.take(MOST_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_TEXT {
        return Err(bad(format!("text of more than {} MiB", MOST_TEXT >> 20)));
    }
    let mut text = strata_trace::blkparse::read(&String::from_utf8_lossy(&bytes)).map_err(bad)?;
    let figures = strata_trace::summarise(&mut text.source);
    let other = text.other_actions;
    Ok(json!({"form": "blkparse", "figures": figures, "recording": null, "waterfall": null, "other_actions": other})
        .to_string())
}
