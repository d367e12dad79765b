//! The programs keep their words: exit statuses, and what is counted.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn load(job: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_strata-load"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("strata-load");
    child.stdin.take().expect("stdin").write_all(job.as_bytes()).expect("job");
    child.wait_with_output().expect("ends")
}

fn job(target: &serde_json::Value, ios: u64) -> String {
    let segments = serde_json::json!([{"start": 0, "length": 1 << 20, "target": 0}]);
    let workload = serde_json::json!({"rw": "randread", "bs": 4096, "iodepth": 1, "segments": segments});
    let job = serde_json::json!({"schema": 1, "target": target, "workload": workload, "engine": "pool",
        "runtime_ns": 600_000_000_000u64, "interval_ns": 600_000_000_000u64, "stop_after": {"ios": ios}});
    job.to_string()
}

#[test]
fn a_job_runs_is_refused_or_fails() {
    let ran = load(&job(&serde_json::json!({"kind": "null"}), 100));
    assert_eq!(ran.status.code(), Some(0));
    let result: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!((&result["completed"], &result["stop_reason"]), (&100.into(), &"ios".into()));

    let refused = load("{\"schema\": 1}");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("job refused"));

    let nowhere = serde_json::json!({"kind": "file", "path": "/nowhere/at/all", "direct": false});
    let failed = load(&job(&nowhere, 1));
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("/nowhere/at/all"));
}

fn count(words: &[&str], spec: &Path) -> Option<serde_json::Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_icount"))
        .args(words)
        .args(["--", env!("CARGO_BIN_EXE_strata-load")])
        .arg(spec)
        .output()
        .expect("icount");
    match output.status.code() {
        Some(0) => Some(serde_json::from_slice(&output.stdout).expect("JSON")),
        Some(3) => {
            eprintln!("not tested: {}", String::from_utf8_lossy(&output.stderr));
            None
        }
        other => panic!("{other:?}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[test]
fn ios_are_counted_whole_and_the_same_each_time() {
    let folder = tempfile::tempdir().expect("folder");
    let (file, spec) = (folder.path().join("file"), folder.path().join("job"));
    std::fs::write(&file, vec![1u8; 1 << 20]).expect("file");
    let target = serde_json::json!({"kind": "file", "path": file, "direct": false});
    std::fs::write(&spec, job(&target, 100_000)).expect("job");
    // Few, because this is an unoptimised build; the same place of the loop in both runs.
    let words = ["--skip", "8", "--ios", "8"];
    let Some(first) = count(&words, &spec) else { return };
    assert_eq!(first["ios"], 8);
    assert_eq!(first["calls"], serde_json::json!({"pread64": 8}));
    assert_eq!(first["thread"], "strata-0");
    // Two of three, because the end of an interval falls into one of them now and then, or into all but one.
    let again = [(); 2].map(|()| count(&words, &spec).expect("as before"));
    let mut counts = [&first, &again[0], &again[1]].map(|c| c["instructions"].as_f64().expect("number"));
    counts.sort_by(f64::total_cmp);
    let [a, b, c] = counts;
    assert!(a > 8.0 * 50.0 && (b / a).min(c / b) - 1.0 < 0.01, "{counts:?}");
}

#[test]
fn a_command_that_ends_too_soon_is_no_count() {
    let folder = tempfile::tempdir().expect("folder");
    let spec = folder.path().join("job");
    std::fs::write(&spec, job(&serde_json::json!({"kind": "null"}), 10)).expect("job");
    let output = Command::new(env!("CARGO_BIN_EXE_icount"))
        .args(["--", env!("CARGO_BIN_EXE_strata-load")])
        .arg(&spec)
        .output()
        .expect("icount");
    assert!(matches!(output.status.code(), Some(1 | 3)), "{output:?}");
    assert!(output.stdout.is_empty());
}
