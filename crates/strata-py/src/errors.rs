//! Errors and panics of ours as exceptions of Python's.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use strata_io::RunError;

/// A value as JSON.
pub fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// `ValueError` for a bad job, `OSError(errno, text, path)` for the system, `RuntimeError` for a bug.
pub fn run(error: &RunError) -> PyErr {
    match error {
        RunError::Job(problems) => PyValueError::new_err(problems.join("\n")),
        RunError::Io(e) => system(e),
        RunError::Bug(what) => PyRuntimeError::new_err(what.clone()),
    }
}

/// `OSError(errno, text, path)`; Python picks the subclass by the errno.
pub fn system(error: &strata_io::Error) -> PyErr {
    let text = format!("{}: {}", error.what, words(&error.source));
    match &error.path {
        Some(path) => PyOSError::new_err((error.errno(), text, path.clone().into_os_string())),
        None => PyOSError::new_err((error.errno(), text)),
    }
}

/// What it says, without its number at the end: Python shows that itself.
fn words(error: &std::io::Error) -> String {
    let said = error.to_string();
    match said.rsplit_once(" (os error ") {
        Some((words, number)) if number.trim_end_matches(')').parse::<i32>().is_ok() => words.to_owned(),
        _ => said,
    }
}

/// `OSError(errno, text)`, or `ValueError` for what the caller wrote wrong.
pub fn io(error: &std::io::Error) -> PyErr {
    if error.kind() == std::io::ErrorKind::InvalidInput && error.raw_os_error().is_none() {
        return PyValueError::new_err(error.to_string());
    }
    PyOSError::new_err((strata_remote::errno(error), words(error)))
}

/// Longest wait without a look at pending signals.
pub const LOOK: Duration = Duration::from_millis(50);

/// Run `body` without the GIL; a panic becomes a `RuntimeError`.
pub fn detached<T: Send>(py: Python<'_>, body: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(body))).map_err(|panic| panicked(&*panic))
}

/// As [`detached`], for all that waits for somebody else: a thread of its own waits, and this one looks at signals. One
/// whose handler raises (Ctrl-C) is raised within [`LOOK`]; the thread is left behind then, ends by its own deadline, and
/// drops what it got.
pub fn apart<T: Send + 'static>(py: Python<'_>, body: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let (tell, mut told) = mpsc::channel();
    let work = move || {
        // Nobody listens any more: then it is dropped here.
        let _left_behind = tell.send(catch_unwind(AssertUnwindSafe(body)));
    };
    std::thread::Builder::new().name("strata-apart".to_owned()).spawn(work)?;
    loop {
        let heard;
        (heard, told) = py.detach(move || (told.recv_timeout(LOOK), told));
        match heard {
            Ok(done) => return done.map_err(|panic| panicked(&*panic)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("a thread was lost")),
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    PyRuntimeError::new_err(format!("the compiled part of Strata panicked: {text}; please report this"))
}
