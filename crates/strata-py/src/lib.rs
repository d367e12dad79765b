//! The only door between Python and the engine: `strata._core`.
//!
//! Values in, values out: JSON texts, numbers, bytes. Nothing here is called from the load loop.

mod build_info;
mod errors;
mod hist;
mod lab;
mod paths;
mod remote;
mod run;
mod target;
mod trace;
mod verify;

use pyo3::prelude::*;

/// The compiled part of Strata.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::build_info::build_info;
    #[pymodule_export]
    use super::hist::{hist_decode, hist_from_bins, hist_merge, hist_quantiles, hist_summary};
    #[pymodule_export]
    use super::lab::{lab_direct, lab_disk, lab_hop};
    #[pymodule_export]
    use super::paths::{cache_state, cached_bytes, drop_cached, fiemap, io_limits};
    #[pymodule_export]
    use super::remote::{remote_create, remote_fill, remote_probe, remote_read, remote_remove};
    #[pymodule_export]
    use super::run::{Run, fill, start};
    #[pymodule_export]
    use super::target::target_serve;
    #[pymodule_export]
    use super::trace::{Trace, trace, trace_read};
    #[pymodule_export]
    use super::verify::{Verification, verify, verify_journal};
}
