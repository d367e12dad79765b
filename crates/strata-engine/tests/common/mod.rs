//! Runs as the tests of this crate ask for them.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

use std::time::Duration;

use serde_json::Value;
use strata_engine::{BuildInfo, Error, Job, Run};

pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

pub fn start(job: &Value) -> Result<Run, Error> {
    Job::parse(&job.to_string()).and_then(|job| strata_engine::start(&job, BuildInfo::default()))
}

/// It is not begun, and the words say why.
pub fn refused(job: &Value, parts: &[&str]) {
    let said = start(job).unwrap_err().to_string();
    parts.iter().for_each(|part| assert!(said.contains(part), "{part} in {said}"));
}

pub fn finish(run: &Run) -> Value {
    let result = run.wait(Duration::from_secs(120)).expect("ends").expect("has a result");
    serde_json::from_str(&result).unwrap()
}
