//! The behaviour suite of every queue, on the one over iSCSI, against tgt where that is installed.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

#[path = "../../strata-io/tests/suite/mod.rs"]
mod suite;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use strata_proto::iscsi::{IscsiQueue, OpenSpec, Unit, Uri};
use suite::{BLOCK, BLOCKS, behaves};

const NAME: &str = "iqn.2026-11.invalid.strata:suite";
const PATIENCE: Duration = Duration::from_secs(10);

/// A target on the loopback; ended with the test.
struct Target {
    server: Child,
    uri: Uri,
    folder: tempfile::TempDir,
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ended = (self.server.kill(), self.server.wait());
    }
}

fn tell(folder: &Path, number: &str, words: &[&str]) -> bool {
    let mut tell = Command::new("tgtadm");
    tell.env("TGT_IPC_SOCKET", folder.join("ipc")).args(["-C", number, "--lld", "iscsi"]).args(words);
    tell.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// `None` where there is no tgt; with `STRATA_REQUIRE=all` that is a failure.
fn target() -> Option<Target> {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    std::fs::write(&image, vec![0; BLOCK * BLOCKS as usize]).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let number = (u32::from(port) % 30_000).to_string();
    let server = Command::new("tgtd")
        .env("TGT_IPC_SOCKET", folder.path().join("ipc"))
        .args(["-f", "-C", &number, "--iscsi", &format!("portal=127.0.0.1:{port}"), "-t", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(server) = server else {
        let required = std::env::var("STRATA_REQUIRE").is_ok_and(|what| what == "all");
        assert!(!required, "tgtd is not installed and STRATA_REQUIRE=all");
        return None;
    };
    let uri = format!("iscsi://127.0.0.1:{port}/{NAME}/1").parse().unwrap();
    let target = Target { server, uri, folder };
    let (begun, place) = (Instant::now(), target.folder.path());
    while !tell(place, &number, &["--op", "new", "--mode", "target", "--tid", "1", "-T", NAME]) {
        assert!(begun.elapsed() < Duration::from_secs(30), "tgtd does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
    let image = image.to_str().unwrap();
    let unit = ["--op", "new", "--mode", "logicalunit", "--tid", "1", "--lun", "1", "-b", image];
    assert!(tell(place, &number, &unit));
    assert!(tell(place, &number, &["--op", "bind", "--mode", "target", "--tid", "1", "-I", "ALL"]));
    Some(target)
}

#[test]
fn the_suite_over_one_and_several_sessions() {
    // It needs root.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let Some(target) = target() else { return };
    let unit = Unit::open(&target.uri, PATIENCE).unwrap();
    assert_eq!((unit.size_bytes, unit.block_bytes), (BLOCK as u64 * BLOCKS, 512));
    for (depth, connections, dsync) in [(1, 1, false), (3, 1, true), (8, 1, false), (8, 3, false)] {
        let spec = OpenSpec { depth, block: BLOCK as u32, connections, dsync };
        let mut queue = IscsiQueue::open(&unit, spec, PATIENCE).unwrap();
        // Beyond the end the protocol has an error; a file has a short read.
        behaves(&mut queue, depth, true, Some(-libc::EINVAL));
    }
}
