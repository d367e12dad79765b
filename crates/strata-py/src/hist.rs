//! Histograms for Python: decode, merge, quantiles, moments.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use strata_engine::{decode_histogram, encode_histogram};
use strata_hist::{HIGHEST_NS, Histogram, highest_equivalent};

use crate::errors;

fn decode(text: &str) -> PyResult<Histogram> {
    decode_histogram(text).map_err(PyValueError::new_err)
}

/// Non-empty buckets: (highest ns of each, count of each).
#[pyfunction]
pub fn hist_decode(b64: &str) -> PyResult<(Vec<u64>, Vec<u64>)> {
    let histogram = decode(b64)?;
    Ok(histogram.buckets().map(|(index, count)| (highest_equivalent(index).min(HIGHEST_NS), count)).unzip())
}

/// A histogram from (value in ns, count) pairs: another tool's buckets, each counted at the value given for it.
///
/// `ValueError` when the two lists differ in length or the counts do not fit into 64 bits.
#[pyfunction]
pub fn hist_from_bins(values: Vec<u64>, counts: Vec<u64>) -> PyResult<String> {
    if values.len() != counts.len() {
        return Err(PyValueError::new_err(format!("{} values for {} counts", values.len(), counts.len())));
    }
    if counts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count)).is_none() {
        return Err(PyValueError::new_err("the counts do not fit into 64 bits"));
    }
    let mut whole = Histogram::new();
    for (value, count) in values.into_iter().zip(counts) {
        whole.record_many(value, count);
    }
    Ok(encode_histogram(&whole))
}

/// All of them together, bucket by bucket.
#[pyfunction]
pub fn hist_merge(py: Python<'_>, parts: Vec<String>) -> PyResult<String> {
    errors::detached(py, || {
        let mut whole = Histogram::new();
        for part in &parts {
            whole.merge(&decode_histogram(part)?);
        }
        Ok(encode_histogram(&whole))
    })?
    .map_err(|e: String| PyValueError::new_err(e))
}

/// The values in ns at or below which these shares (0..=1) lie. `ValueError` on an empty histogram.
#[pyfunction]
pub fn hist_quantiles(b64: &str, qs: Vec<f64>) -> PyResult<Vec<u64>> {
    let histogram = decode(b64)?;
    qs.into_iter()
        .map(|q| {
            if !(0.0..=1.0).contains(&q) {
                return Err(PyValueError::new_err(format!("quantile {q} is not in 0..=1")));
            }
            histogram
                .quantile_ns(q)
                .ok_or_else(|| PyValueError::new_err("an empty histogram has no quantiles"))
        })
        .collect()
}

/// Count, min, max, mean and stddev as JSON; ns, all 0 when empty. Min and max are bucket edges.
#[pyfunction]
pub fn hist_summary(b64: &str) -> PyResult<String> {
    let s = decode(b64)?.summary();
    errors::json(&serde_json::json!({
        "count": s.count, "min": s.min_ns, "max": s.max_ns, "mean": s.mean_ns, "stddev": s.stddev_ns,
    }))
}
