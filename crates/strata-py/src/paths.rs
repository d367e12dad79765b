//! What can be asked of a path.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::errors;

/// Extents of a file after it has been written out, as JSON.
#[pyfunction]
pub fn fiemap(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let map = errors::detached(py, || strata_io::fiemap(&path))?.map_err(|e| errors::system(&e))?;
    errors::json(&map)
}

/// Block sizes, alignments and size of a file or block device, as JSON.
#[pyfunction]
pub fn io_limits(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let limits = errors::detached(py, || strata_io::io_limits(&path))?.map_err(|e| errors::system(&e))?;
    errors::json(&limits)
}

/// Page-cache bytes of a range of a file.
#[pyfunction]
pub fn cached_bytes(py: Python<'_>, path: PathBuf, offset: u64, length: u64) -> PyResult<u64> {
    errors::detached(py, || strata_io::cached_bytes(&path, offset, length))?.map_err(|e| errors::system(&e))
}

/// Page-cache bytes of a range of a file or block device, as JSON: resident, and unwritten (null where not told).
#[pyfunction]
pub fn cache_state(py: Python<'_>, path: PathBuf, offset: u64, length: u64) -> PyResult<String> {
    let state = errors::detached(py, || strata_io::cache_state(&path, offset, length))?;
    errors::json(&state.map_err(|e| errors::system(&e))?)
}

/// Write out and drop the cached pages of a range of a file; the resident bytes that are left.
#[pyfunction]
pub fn drop_cached(py: Python<'_>, path: PathBuf, offset: u64, length: u64) -> PyResult<u64> {
    errors::detached(py, || strata_io::drop_cached(&path, offset, length))?.map_err(|e| errors::system(&e))
}
