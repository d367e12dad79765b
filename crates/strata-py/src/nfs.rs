//! Files on NFS servers for Python: look at one, make it, read a range, fill and remove it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use strata_engine::RemoteFillSpec;
use strata_proto::nfs::{self, NfsFile, Uri};

use crate::build_info::info;
use crate::errors;
use crate::nbd::raise;
use crate::run::Run;

/// As long as an answer may take, unless told otherwise; the client waits at most 10 s.
const PATIENCE_NS: u64 = 10_000_000_000;

fn there(uri: &str, netns: Option<PathBuf>) -> io::Result<Uri> {
    Ok(uri.parse::<Uri>()?.from_namespace(netns))
}

fn told(file: &NfsFile) -> serde_json::Value {
    serde_json::json!({
        "size_bytes": file.size_bytes,
        "file_id": file.file_id,
        "read_most": file.read_most,
        "write_most": file.write_most,
    })
}

/// Look at a file: JSON with its size, its number, the longest read and write the server takes, and the times of
/// reaching it and of `rounds` calls that do nothing (wire and RPC only).
///
/// Waits `patience_ns`, at most 10 s, for each answer. Raises `OSError` that names the address.
#[pyfunction]
#[pyo3(signature = (uri, rounds, patience_ns = PATIENCE_NS, netns = None))]
pub fn nfs_probe(
    py: Python<'_>,
    uri: String,
    rounds: u32,
    patience_ns: u64,
    netns: Option<PathBuf>,
) -> PyResult<String> {
    let look = move || nfs::probe(&there(&uri, netns)?, rounds, Duration::from_nanos(patience_ns));
    let seen = errors::apart(py, look)?.map_err(|error| raise(&error))?;
    let mut json = told(&seen.file);
    json["multi_conn"] = true.into(); // one server, one file: every connection sees the same
    json["connect_ns"] = seen.connect_ns.into();
    json["rtt_ns"] = seen.rtt_ns.into();
    errors::json(&json)
}

/// `length` bytes of a file from `offset`. Raises `OSError` that names the address.
#[pyfunction]
#[pyo3(signature = (uri, offset, length, patience_ns = PATIENCE_NS, netns = None))]
pub fn nfs_read<'py>(
    py: Python<'py>,
    uri: String,
    offset: u64,
    length: u64,
    patience_ns: u64,
    netns: Option<PathBuf>,
) -> PyResult<Bound<'py, PyBytes>> {
    let patience = Duration::from_nanos(patience_ns);
    let read = move || nfs::read_range(&there(&uri, netns)?, offset, length, patience);
    let bytes = errors::apart(py, read)?.map_err(|error| raise(&error))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Make a file of `size_bytes` that begins with `header`: JSON as `nfs_probe` without times. `FileExistsError` when
/// something is there.
#[pyfunction]
#[pyo3(signature = (uri, size_bytes, header, patience_ns = PATIENCE_NS, netns = None))]
pub fn nfs_create(
    py: Python<'_>,
    uri: String,
    size_bytes: u64,
    header: Vec<u8>,
    patience_ns: u64,
    netns: Option<PathBuf>,
) -> PyResult<String> {
    let make =
        move || nfs::create(&there(&uri, netns)?, size_bytes, &header, Duration::from_nanos(patience_ns));
    let made = errors::apart(py, make)?.map_err(|error| raise(&error))?;
    errors::json(&told(&made))
}

/// Remove a file. Raises `OSError` that names the address.
#[pyfunction]
#[pyo3(signature = (uri, patience_ns = PATIENCE_NS, netns = None))]
pub fn nfs_remove(py: Python<'_>, uri: String, patience_ns: u64, netns: Option<PathBuf>) -> PyResult<()> {
    let remove = move || nfs::remove(&there(&uri, netns)?, Duration::from_nanos(patience_ns));
    errors::apart(py, remove)?.map_err(|error| raise(&error))
}

/// Write an existing remote file once with incompressible data behind `header`, then have it written out.
#[pyfunction]
#[pyo3(signature = (uri, size_bytes, seed, header, netns = None))]
pub fn nfs_fill(
    py: Python<'_>,
    uri: String,
    size_bytes: u64,
    seed: u64,
    header: Vec<u8>,
    netns: Option<String>,
) -> PyResult<Run> {
    let spec = RemoteFillSpec { uri, netns, size_bytes, seed, header };
    let begin = move || strata_engine::fill_remote(&spec, info());
    Ok(Run::remote(errors::apart(py, begin)?.map_err(|e| errors::engine(&e))?))
}
