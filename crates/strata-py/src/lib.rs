//! The only door between Python and the engine: `strata._core`.
use pyo3::prelude::*;

/// `strata._core`.
#[pymodule]
mod _core {}
