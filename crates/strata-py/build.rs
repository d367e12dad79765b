//! Tells the code what it is built from: git revision, target, profile.

use std::process::Command;

fn main() {
    println!("cargo::rustc-env=STRATA_GIT={}", revision().unwrap_or_else(|| "unknown".to_owned()));
    for (key, from) in [("STRATA_TARGET", "TARGET"), ("STRATA_OPT", "OPT_LEVEL")] {
        println!("cargo::rustc-env={key}={}", std::env::var(from).unwrap_or_else(|_| "unknown".to_owned()));
    }
    // Any change of the sources may change `-dirty`; a commit moves HEAD's log.
    println!("cargo::rerun-if-changed=../../crates");
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
}

/// `None` without git, or outside a repository of this project's own (a source archive unpacked inside another).
fn revision() -> Option<String> {
    let inside = git(&["rev-parse", "--show-prefix"])?;
    if inside.trim_end_matches('/') != "crates/strata-py" {
        return None;
    }
    let revision = git(&["rev-parse", "--short=12", "HEAD"])?;
    let dirty = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if dirty { revision + "-dirty" } else { revision })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
