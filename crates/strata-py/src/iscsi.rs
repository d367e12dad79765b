//! Logical units of iSCSI targets for Python: look at one, read a range.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use strata_proto::iscsi::{self, Uri};

use crate::errors;
use crate::nbd::raise;

/// As long as an answer may take, unless told otherwise; the client waits at most 10 s.
const PATIENCE_NS: u64 = 10_000_000_000;

fn there(uri: &str, netns: Option<PathBuf>) -> io::Result<Uri> {
    Ok(uri.parse::<Uri>()?.from_namespace(netns))
}

/// Look at a logical unit: JSON with its size and block in bytes, product, whether it takes writes and offers FUA, and
/// the times of logging in and of `rounds` times TEST UNIT READY (wire, protocol and the target's front end).
///
/// Waits `patience_ns`, at most 10 s, for each answer. Raises `OSError` that names the address.
#[pyfunction]
#[pyo3(signature = (uri, rounds, patience_ns = PATIENCE_NS, netns = None))]
pub fn iscsi_probe(
    py: Python<'_>,
    uri: String,
    rounds: u32,
    patience_ns: u64,
    netns: Option<PathBuf>,
) -> PyResult<String> {
    let look = move || iscsi::probe(&there(&uri, netns)?, rounds, Duration::from_nanos(patience_ns));
    let seen = errors::apart(py, look)?.map_err(|error| raise(&error))?;
    let unit = &seen.unit;
    let json = serde_json::json!({
        "size_bytes": unit.size_bytes,
        "min_block": unit.block_bytes,
        "product": unit.product,
        "read_only": unit.read_only,
        "fua": unit.fua,
        "multi_conn": true, // sessions with one unit see one disk
        "connect_ns": seen.connect_ns,
        "rtt_ns": seen.rtt_ns,
    });
    errors::json(&json)
}

/// `length` bytes of a unit from `offset`. Raises `OSError` that names the address.
#[pyfunction]
#[pyo3(signature = (uri, offset, length, patience_ns = PATIENCE_NS, netns = None))]
pub fn iscsi_read<'py>(
    py: Python<'py>,
    uri: String,
    offset: u64,
    length: u64,
    patience_ns: u64,
    netns: Option<PathBuf>,
) -> PyResult<Bound<'py, PyBytes>> {
    let patience = Duration::from_nanos(patience_ns);
    let read = move || iscsi::read_range(&there(&uri, netns)?, offset, length, patience);
    let bytes = errors::apart(py, read)?.map_err(|error| raise(&error))?;
    Ok(PyBytes::new(py, &bytes))
}
