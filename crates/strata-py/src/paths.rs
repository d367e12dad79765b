//! What can be asked of a path.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::json;

use crate::errors;

/// Extents of a file after it has been written out, as JSON.
#[pyfunction]
pub fn fiemap(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let map = errors::detached(py, || strata_io::fiemap(&path))?.map_err(|e| errors::system(&e))?;
    let extents: Vec<_> = map
        .extents
        .iter()
        .map(|e| json!({"logical": e.logical, "physical": e.physical, "length": e.length, "flags": e.flags}))
        .collect();
    errors::json(&json!({"device": map.device, "extents": extents}))
}

/// Block sizes, alignments and size of a file or block device, as JSON.
#[pyfunction]
pub fn io_limits(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let l = errors::detached(py, || strata_io::io_limits(&path))?.map_err(|e| errors::system(&e))?;
    errors::json(&json!({
        "logical_block": l.logical_block,
        "physical_block": l.physical_block,
        "dio_mem_align": l.dio_mem_align,
        "dio_offset_align": l.dio_offset_align,
        "size_bytes": l.size_bytes,
        "dio_supported": l.dio_supported,
    }))
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
    let state = state.map_err(|e| errors::system(&e))?;
    errors::json(&json!({"resident": state.resident, "unwritten": state.unwritten}))
}

/// Write out and drop the cached pages of a range of a file; the resident bytes that are left.
#[pyfunction]
pub fn drop_cached(py: Python<'_>, path: PathBuf, offset: u64, length: u64) -> PyResult<u64> {
    errors::detached(py, || strata_io::drop_cached(&path, offset, length))?.map_err(|e| errors::system(&e))
}
