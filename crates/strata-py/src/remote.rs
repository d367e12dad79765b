//! What is behind a network for Python, whatever is spoken there: look at it, read a range; make, fill and remove a file.
//!
//! The scheme of the address says what is spoken. All raise `OSError` that names the address, or `ValueError` for what
//! the caller wrote wrong. `patience_ns` is for a connection and for each answer, and at most 10 s. `netns` is the path of
//! the network namespace it is dialled from, `password` stands in place of one in the address.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use strata_engine::RemoteFillSpec;
use strata_remote::{Kind, Password, Place, Scheme, dispatch};

use crate::build_info::info;
use crate::errors;
use crate::run::{Run, begun};

const PATIENCE_NS: u64 = 30_000_000_000;

fn place(uri: String, netns: Option<PathBuf>, password: Option<String>) -> Place {
    Place { uri, netns, password: password.map(Password::new) }
}

fn apart<T: Send + 'static>(
    py: Python<'_>,
    ask: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> PyResult<T> {
    errors::apart(py, ask)?.map_err(|error| errors::io(&error))
}

/// Look at it without touching its data: JSON with its size, what else its scheme tells, and the times of connecting and
/// of `rounds` exchanges (wire and protocol only).
#[pyfunction]
#[pyo3(signature = (uri, rounds, patience_ns = PATIENCE_NS, netns = None, password = None))]
pub fn remote_probe(
    py: Python<'_>,
    uri: String,
    rounds: u32,
    patience_ns: u64,
    netns: Option<PathBuf>,
    password: Option<String>,
) -> PyResult<String> {
    let (at, patience) = (place(uri, netns, password), Duration::from_nanos(patience_ns));
    let seen =
        apart(py, move || dispatch!(Kind::of(&at.uri)?, S => S::probe(&S::parse(&at)?.0, rounds, patience)))?;
    errors::json(&seen)
}

/// `length` bytes from `offset`, by plain reads.
#[pyfunction]
#[pyo3(signature = (uri, offset, length, patience_ns = PATIENCE_NS, netns = None, password = None))]
pub fn remote_read<'py>(
    py: Python<'py>,
    uri: String,
    offset: u64,
    length: u64,
    patience_ns: u64,
    netns: Option<PathBuf>,
    password: Option<String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (at, patience) = (place(uri, netns, password), Duration::from_nanos(patience_ns));
    let bytes = apart(
        py,
        move || dispatch!(Kind::of(&at.uri)?, S => S::read(&S::parse(&at)?.0, offset, length, patience)),
    )?;
    Ok(PyBytes::new(py, &bytes))
}

/// Make a file of `size_bytes` that begins with `header`. `FileExistsError` when something is there.
#[pyfunction]
#[pyo3(signature = (uri, size_bytes, header, patience_ns = PATIENCE_NS, netns = None, password = None))]
pub fn remote_create(
    py: Python<'_>,
    uri: String,
    size_bytes: u64,
    header: Vec<u8>,
    patience_ns: u64,
    netns: Option<PathBuf>,
    password: Option<String>,
) -> PyResult<()> {
    let (at, patience) = (place(uri, netns, password), Duration::from_nanos(patience_ns));
    apart(
        py,
        move || dispatch!(Kind::of(&at.uri)?, S => S::create(&S::parse(&at)?.0, size_bytes, &header, patience)),
    )
}

/// Remove a file; where the protocol can, only while it begins with `header` (else `OSError` with `EPERM`).
#[pyfunction]
#[pyo3(signature = (uri, header, patience_ns = PATIENCE_NS, netns = None, password = None))]
pub fn remote_remove(
    py: Python<'_>,
    uri: String,
    header: Vec<u8>,
    patience_ns: u64,
    netns: Option<PathBuf>,
    password: Option<String>,
) -> PyResult<()> {
    let (at, patience) = (place(uri, netns, password), Duration::from_nanos(patience_ns));
    apart(py, move || dispatch!(Kind::of(&at.uri)?, S => S::remove(&S::parse(&at)?.0, &header, patience)))
}

/// Write an existing file once with incompressible data behind `header`, then have it written out.
#[pyfunction]
#[pyo3(signature = (uri, size_bytes, seed, header, netns = None, password = None))]
pub fn remote_fill(
    py: Python<'_>,
    uri: String,
    size_bytes: u64,
    seed: u64,
    header: Vec<u8>,
    netns: Option<PathBuf>,
    password: Option<String>,
) -> PyResult<Run> {
    let spec = RemoteFillSpec { place: place(uri, netns, password), size_bytes, seed, header };
    let inner = begun(py, true, move || strata_engine::fill_remote(&spec, info()))?;
    Ok(Run { inner, remote: true })
}
