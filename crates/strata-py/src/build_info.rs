//! What this build is.

use pyo3::prelude::*;
use strata_engine::BuildInfo;

/// Version, profile, revision, histogram layout and target.
pub fn info() -> BuildInfo {
    // Any optimised build counts as release: what matters is whether its figures mean anything.
    let optimised = !cfg!(debug_assertions) && env!("STRATA_OPT") != "0";
    BuildInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        profile: if optimised { "release" } else { "debug" }.to_owned(),
        git: env!("STRATA_GIT").to_owned(),
        hist: "hdr-v2".to_owned(),
        target: env!("STRATA_TARGET").to_owned(),
    }
}

/// What this build is, as JSON: version, profile, git, hist, target.
#[pyfunction]
pub fn build_info() -> PyResult<String> {
    crate::errors::json(&serde_json::json!(info()))
}
