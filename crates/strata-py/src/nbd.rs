//! NBD for Python: serve a shaped target, look at a server, read a range.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::errors;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use strata_proto::client::{Uri, probe, read_range};
use strata_proto::server::{Config, Server, StopOnSignals};

/// As long as a request of a verification may take before it is called stuck, unless told otherwise.
const PATIENCE_NS: u64 = 30_000_000_000;

/// `OSError(errno, text)`, or `ValueError` for what the caller wrote wrong.
pub fn raise(error: &io::Error) -> PyErr {
    if error.kind() == io::ErrorKind::InvalidInput && error.raw_os_error().is_none() {
        return PyValueError::new_err(error.to_string());
    }
    PyOSError::new_err((strata_proto::errno(error), error.to_string()))
}

/// Serve a target until SIGTERM or SIGINT, with the GIL released; both end it in good order.
///
/// `config_json` is the target configuration. Raises `ValueError` for a bad configuration and
/// `OSError` when the backing or the address cannot be had. Prints nothing.
#[pyfunction]
pub fn target_serve(py: Python<'_>, config_json: &str) -> PyResult<()> {
    let config: Config = serde_json::from_str(config_json)
        .map_err(|error| PyValueError::new_err(format!("target configuration: {error}")))?;
    let served = errors::detached(py, || {
        let signals = StopOnSignals::install()?;
        let server = Server::start(&config)?;
        server.run_until(|| signals.asked());
        Ok(())
    })?;
    served.map_err(|error: io::Error| raise(&error))
}

/// Look at an export without touching its data: JSON with its size, flags, block sizes, and the
/// times of connecting and of `rounds` exchanges of `NBD_OPT_INFO` (wire and protocol only).
///
/// Block sizes are null where the server tells none. Waits `patience_ns`, at most 10 s, for each answer. Dials from the
/// network namespace at `netns`, if one is given. Raises `OSError` that names the address.
#[pyfunction]
#[pyo3(signature = (uri, rounds, patience_ns = PATIENCE_NS, netns = None))]
pub fn nbd_probe(
    py: Python<'_>,
    uri: String,
    rounds: u32,
    patience_ns: u64,
    netns: Option<PathBuf>,
) -> PyResult<String> {
    let patience = Duration::from_nanos(patience_ns);
    let look = move || probe(&uri.parse::<Uri>()?.from_namespace(netns), rounds, patience);
    let seen = errors::apart(py, look)?.map_err(|error| raise(&error))?;
    let blocks = seen.export.blocks;
    let json = serde_json::json!({
        "size_bytes": seen.export.size_bytes,
        "flags": seen.export.flag_names(),
        "min_block": blocks.map(|blocks| blocks.minimum),
        "preferred_block": blocks.map(|blocks| blocks.preferred),
        "max_block": blocks.map(|blocks| blocks.maximum),
        "multi_conn": seen.export.has(strata_proto::codec::consts::TX_CAN_MULTI_CONN),
        "structured": seen.structured,
        "connect_ns": seen.connect_ns,
        "rtt_ns": seen.rtt_ns,
        "tls": false,
    });
    errors::json(&json)
}

/// `length` bytes of an export from `offset`, by one connection and plain reads.
///
/// Waits `patience_ns` for each piece of 64 KiB, and as `nbd_probe` for the connection. Raises `OSError` that names the
/// address: unreachable, no answer, beyond the end, or the server's errno.
#[pyfunction]
#[pyo3(signature = (uri, offset, length, patience_ns = PATIENCE_NS, netns = None))]
pub fn nbd_read<'py>(
    py: Python<'py>,
    uri: String,
    offset: u64,
    length: u64,
    patience_ns: u64,
    netns: Option<PathBuf>,
) -> PyResult<Bound<'py, PyBytes>> {
    let patience = Duration::from_nanos(patience_ns);
    let read = move || read_range(&uri.parse::<Uri>()?.from_namespace(netns), offset, length, patience);
    let bytes = errors::apart(py, read)?.map_err(|error| raise(&error))?;
    Ok(PyBytes::new(py, &bytes))
}
