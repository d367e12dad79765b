//! The load engine: one job in, one result out, one loop between.
//!
//! The only clock that measures lives here ([`clock`]); what its readings mean is written beside the loop
//! ([`load`]).

pub mod backend;
pub mod clock;
mod collector;
pub mod control;
mod cpu;
mod errno;
mod error;
mod fill;
mod fill_remote;
mod in_place;
mod instants;
pub mod job;
mod job_pattern;
mod lease;
pub mod load;
mod merge;
mod outcome;
pub mod pace;
mod place;
pub mod record;
mod remote;
mod report;
mod run;
#[cfg(test)]
mod scripted;
pub mod slot_table;
mod start;
#[cfg(test)]
mod timing_tests;
pub mod tsc;
mod urgent;
mod validate;
mod worker;

pub use error::{Error, Result};
pub use fill::{FillSpec, fill};
pub use fill_remote::{RemoteFillSpec, fill_remote};
pub use job::Job;
pub use outcome::BuildInfo;
pub use run::Run;
pub use start::start;

use base64::Engine as _;
use strata_hist::Histogram;

/// A histogram as it travels in JSON: base64 of HdrHistogram V2.
#[must_use]
pub fn encode_histogram(histogram: &Histogram) -> String {
    base64::engine::general_purpose::STANDARD.encode(histogram.encode())
}

/// The histogram in a text of [`encode_histogram`].
///
/// # Errors
/// Not base64, or not a histogram of ours; the text says which.
pub fn decode_histogram(text: &str) -> std::result::Result<Histogram, String> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(|e| format!("histogram: not base64: {e}"))?;
    Histogram::decode(&bytes).map_err(|e| e.to_string())
}
