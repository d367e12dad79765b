//! Files on SMB shares for Python: look, read, make, fill, remove.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use strata_engine::SmbFill;
use strata_smb::{Password, Uri, create, probe, read_range, remove};

use crate::build_info::info;
use crate::errors;
use crate::run::Run;

fn raise(error: &io::Error) -> PyErr {
    PyOSError::new_err((strata_smb::errno(error), error.to_string()))
}

fn address(uri: &str, password: Option<String>, netns: Option<PathBuf>) -> io::Result<Uri> {
    Ok(uri.parse::<Uri>()?.with_password(password.map(Password::new)).from_namespace(netns))
}

/// Look at a file without touching its data: JSON with its size, what was agreed on, and the times of connecting and of
/// `rounds` echoes (wire and protocol only).
///
/// Waits `patience_ns`, at most 10 s, for each answer. Raises `OSError` that names the address.
#[pyfunction]
#[pyo3(signature = (uri, password, rounds, patience_ns, netns = None))]
pub fn smb_probe(
    py: Python<'_>,
    uri: String,
    password: Option<String>,
    rounds: u32,
    patience_ns: u64,
    netns: Option<PathBuf>,
) -> PyResult<String> {
    let patience = Duration::from_nanos(patience_ns);
    let look = move || probe(&address(&uri, password, netns)?, rounds, patience);
    let seen = errors::apart(py, look)?.map_err(|error| raise(&error))?;
    let json = serde_json::json!({
        "size_bytes": seen.size_bytes,
        "dialect": seen.agreed.dialect,
        "signing": seen.agreed.signing,
        "encryption": seen.agreed.encryption,
        "max_read_bytes": seen.agreed.max_read,
        "max_write_bytes": seen.agreed.max_write,
        "multichannel": seen.agreed.multichannel,
        // Any file can be opened over several connections.
        "multi_conn": true,
        "connect_ns": seen.connect_ns,
        "rtt_ns": seen.rtt_ns,
    });
    errors::json(&json)
}

/// `length` bytes of a file from `offset`. Errors and waits as `smb_probe`.
#[pyfunction]
#[pyo3(signature = (uri, password, offset, length, patience_ns, netns = None))]
pub fn smb_read<'py>(
    py: Python<'py>,
    uri: String,
    password: Option<String>,
    offset: u64,
    length: u64,
    patience_ns: u64,
    netns: Option<PathBuf>,
) -> PyResult<Bound<'py, PyBytes>> {
    let patience = Duration::from_nanos(patience_ns);
    let read = move || read_range(&address(&uri, password, netns)?, offset, length, patience);
    let bytes = errors::apart(py, read)?.map_err(|error| raise(&error))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Make a file of `size_bytes` that begins with `header`; `OSError` with `EEXIST` when there is one already.
#[pyfunction]
#[pyo3(signature = (uri, password, size_bytes, header, patience_ns, netns = None))]
pub fn smb_create(
    py: Python<'_>,
    uri: String,
    password: Option<String>,
    size_bytes: u64,
    header: Vec<u8>,
    patience_ns: u64,
    netns: Option<PathBuf>,
) -> PyResult<()> {
    let patience = Duration::from_nanos(patience_ns);
    let make = move || create(&address(&uri, password, netns)?, size_bytes, &header, patience);
    errors::apart(py, make)?.map_err(|error| raise(&error))
}

/// Remove a file that still begins with `header`; whether it was there. `OSError` with `EPERM` when it begins otherwise.
#[pyfunction]
#[pyo3(signature = (uri, password, header, patience_ns, netns = None))]
pub fn smb_remove(
    py: Python<'_>,
    uri: String,
    password: Option<String>,
    header: Vec<u8>,
    patience_ns: u64,
    netns: Option<PathBuf>,
) -> PyResult<bool> {
    let patience = Duration::from_nanos(patience_ns);
    let take = move || remove(&address(&uri, password, netns)?, &header, patience);
    errors::apart(py, take)?.map_err(|error| raise(&error))
}

/// Write an existing file once with incompressible data behind `header`, then flush.
#[pyfunction]
#[pyo3(signature = (uri, password, size_bytes, seed, header, netns = None))]
pub fn smb_fill(
    py: Python<'_>,
    uri: String,
    password: Option<String>,
    size_bytes: u64,
    seed: u64,
    header: Vec<u8>,
    netns: Option<PathBuf>,
) -> PyResult<Run> {
    let uri = address(&uri, password, netns).map_err(|error| raise(&error))?;
    let spec = SmbFill { uri, size_bytes, seed, header };
    let inner =
        errors::apart(py, move || strata_engine::fill_smb(spec, info()))?.map_err(|e| errors::engine(&e))?;
    Ok(Run::remote(inner))
}
