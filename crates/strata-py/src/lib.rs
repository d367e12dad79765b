//! The only door between Python and the engine: `strata._core`.
//!
//! Values in, values out: JSON texts, numbers, bytes. Nothing here is called from the load loop.

mod build_info;
mod errors;
mod hist;
mod iscsi;
mod lab;
mod nbd;
mod nfs;
mod paths;
mod run;
mod smb;
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
    use super::iscsi::{iscsi_probe, iscsi_read};
    #[pymodule_export]
    use super::lab::{lab_direct, lab_disk, lab_hop};
    #[pymodule_export]
    use super::nbd::{nbd_probe, nbd_read, target_serve};
    #[pymodule_export]
    use super::nfs::{nfs_create, nfs_fill, nfs_probe, nfs_read, nfs_remove};
    #[pymodule_export]
    use super::paths::{cache_state, cached_bytes, drop_cached, fiemap, io_limits};
    #[pymodule_export]
    use super::run::{Run, fill, start};
    #[pymodule_export]
    use super::smb::{smb_create, smb_fill, smb_probe, smb_read, smb_remove};
    #[pymodule_export]
    use super::trace::{Trace, trace, trace_read};
    #[pymodule_export]
    use super::verify::{Verification, verify, verify_journal};
}
