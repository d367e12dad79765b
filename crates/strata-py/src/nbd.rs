//! NBD for Python: serve a shaped target, look at a server, read a range.

use std::io;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use strata_proto::server::{Config, Server, StopOnSignals};

/// `OSError(errno, text)`, or `ValueError` for what the caller wrote wrong.
fn raise(error: &io::Error) -> PyErr {
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
    py.detach(|| {
        let signals = StopOnSignals::install()?;
        let server = Server::start(&config)?;
        server.run_until(|| signals.asked());
        Ok(())
    })
    .map_err(|error: io::Error| raise(&error))
}
