//! `strata target` for Python: serve a shaped target.

use std::io;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use strata_proto::nbd::server::{Config, Server, StopOnSignals};

use crate::errors;

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
    served.map_err(|error: io::Error| errors::io(&error))
}
