//! placeholder until the first landing of this crate
