//! Verifications as the tests ask for them.

use std::time::Duration;

use serde_json::{Value, json};
use strata_verify::{Job, Run, start};

/// Put the keys of `extra` into an object.
pub fn merge(into: &mut Value, extra: Value) {
    if let (Some(into), Value::Object(extra)) = (into.as_object_mut(), extra) {
        into.extend(extra);
    }
}

/// A job on 512-byte sectors, in which `extra` says the rest.
pub fn job(extra: Value) -> Job {
    let mut job = json!({
        "schema": 1, "sector": 512, "iodepth": 8, "threads": 2, "order": "random", "seed": 5, "mode": "run",
        "passes": 1, "write_percent": 100, "runtime_ns": null, "journal": null, "loss": "process", "atomic": false,
        "stuck_after_ns": 30_000_000_000u64, "engine": "auto",
    });
    merge(&mut job, extra);
    Job::parse(&job.to_string()).expect("a job")
}

pub fn finished(run: &Run) -> Value {
    let said = run.wait(Duration::from_secs(60)).expect("in time").expect("a result");
    serde_json::from_str(&said).expect("JSON")
}

pub fn verified(job: Job) -> Value {
    finished(&start(job).expect("a run"))
}
