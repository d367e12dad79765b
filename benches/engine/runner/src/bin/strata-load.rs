//! `strata-load [JOB]`: run one engine job without Python and print its result.
//!
//! JOB is a file with the JSON of `docs/design/engine.md`; without it, or with `-`, the job comes from stdin. Exit
//! status: 0 it ran, 1 it could not be run to its end, 2 the job is refused.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use strata_engine::{BuildInfo, Error, Job};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let text = match words.as_slice() {
        [] => stdin(),
        [word] if word == "-" => stdin(),
        [word] if !word.starts_with('-') => {
            std::fs::read_to_string(word).map_err(|e| format!("cannot read the job {word}: {e}"))
        }
        _ => Err("usage: strata-load [JOB.json | -]".to_owned()),
    };
    let job = text.and_then(|text| Job::parse(&text).map_err(|e| e.to_string()));
    let job = match job {
        Ok(job) => job,
        Err(e) => return failed(&e, 2),
    };
    match run(&job) {
        Ok(result) => match writeln!(std::io::stdout(), "{result}") {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => failed(&format!("cannot print the result: {e}"), 1),
        },
        Err((e, status)) => failed(&e, status),
    }
}

fn stdin() -> Result<String, String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| format!("cannot read the job from stdin: {e}"))?;
    Ok(text)
}

fn run(job: &Job) -> Result<String, (String, u8)> {
    let run = strata_engine::start(job, build()).map_err(|e| {
        let status = if matches!(e, Error::Job(_)) { 2 } else { 1 };
        (e.to_string(), status)
    })?;
    loop {
        if let Some(result) = run.wait(Duration::from_secs(60)) {
            return result.map_err(|e| (e.to_string(), 1));
        }
    }
}

fn build() -> BuildInfo {
    BuildInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        git: "unknown".to_owned(),
        hist: "hdr-v2".to_owned(),
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
    }
}

fn failed(what: &str, status: u8) -> ExitCode {
    eprintln!("error: {what}");
    ExitCode::from(status)
}
