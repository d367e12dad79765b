//! Parts of a lab for Python: each blocks until SIGTERM, in a process of its own.

use std::io;

use crate::errors;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

/// A disk with a model, mounted until SIGTERM, SIGINT or an unmount, with the GIL released.
///
/// `config_json`: `dir`, `size`, `model`, `backing`. Raises `ValueError` for a bad configuration and `OSError` that
/// names the directory or the backing.
#[pyfunction]
pub fn lab_disk(py: Python<'_>, config_json: &str) -> PyResult<()> {
    serve(py, config_json, strata_lab::disk::run)
}

/// A directory whose files are read and written past the page cache, mounted until SIGTERM, SIGINT or an unmount, with
/// the GIL released.
///
/// `config_json`: `dir`, `lower`, `parts` (each `name`, `path`, `offset`, `size`). Raises `ValueError` for a bad
/// configuration and `OSError` that names the directory.
#[pyfunction]
pub fn lab_direct(py: Python<'_>, config_json: &str) -> PyResult<()> {
    serve(py, config_json, strata_lab::direct::run)
}

/// A hop between two interfaces of this network namespace, until SIGTERM or SIGINT, with the GIL released.
///
/// `config_json`: `a`, `b`, `model`, `ctl`. Raises `ValueError` for a bad configuration and `OSError` that names the
/// interface or the socket.
#[pyfunction]
pub fn lab_hop(py: Python<'_>, config_json: &str) -> PyResult<()> {
    serve(py, config_json, strata_lab::hop::run)
}

fn serve<C: DeserializeOwned + Sync>(
    py: Python<'_>,
    json: &str,
    run: impl FnOnce(&C) -> io::Result<()> + Send,
) -> PyResult<()> {
    let config: C = serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    errors::detached(py, || run(&config))?.map_err(|error| {
        if error.kind() == io::ErrorKind::InvalidInput && error.raw_os_error().is_none() {
            return PyValueError::new_err(error.to_string());
        }
        PyOSError::new_err(error.to_string())
    })
}
