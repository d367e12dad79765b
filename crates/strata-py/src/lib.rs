//! The only door between Python and the engine: `strata._core`.
use pyo3::prelude::*;

mod nbd;

/// `strata._core`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::nbd::{nbd_probe, nbd_read, target_serve};
}
