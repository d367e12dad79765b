//! A real smbd of the test's own: private directories, a free port of the loopback, stopped and reaped at the end.
#![allow(dead_code)] // each test binary uses its part

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use strata_io::{Io, Op, Queue};
use strata_smb::{OpenSpec, SmbQueue, Uri};

pub const PASSWORD: &str = "open sesame";
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A running server with the shares `share`, `sealed` (encryption required) and `readonly`, one directory behind all.
pub struct Smbd {
    child: Child,
    pub port: u16,
    pub dir: tempfile::TempDir,
}

/// Why no smbd can be started here; a run that requires everything does not accept it.
fn lacking() -> Option<&'static str> {
    let root = rustix::process::geteuid().is_root();
    let found = ["/usr/sbin/smbd", "/usr/bin/smbpasswd"].iter().all(|path| fs::exists(path).unwrap_or(false));
    let why = if !root { "not root" } else { "Samba is not installed" };
    if root && found {
        return None;
    }
    let required = std::env::var("STRATA_REQUIRE").is_ok_and(|all| all == "all");
    assert!(!required, "STRATA_REQUIRE=all, but {why}");
    eprintln!("skipped: {why}");
    Some(why)
}

/// Start a server; `None` (said) where there is none to start. `global` are further lines of its `[global]`.
pub fn smbd(global: &str) -> Option<Smbd> {
    if lacking().is_some() {
        return None;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path().display().to_string();
    for name in ["share", "private", "lock", "state", "cache", "pid", "ncalrpc"] {
        fs::create_dir(dir.path().join(name)).expect("a directory");
    }
    // Held until the server begins: whoever asks for a free port meanwhile gets another one.
    let held = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = held.local_addr().expect("its address").port();
    let config = dir.path().join("smb.conf");
    let text = format!(
        "[global]\n server role = standalone server\n private dir = {at}/private\n lock directory = {at}/lock\n \
         state directory = {at}/state\n cache directory = {at}/cache\n pid directory = {at}/pid\n \
         ncalrpc dir = {at}/ncalrpc\n log file = {at}/log\n interfaces = 127.0.0.1\n bind interfaces only = yes\n \
         smb ports = {port}\n disable netbios = yes\n disable spoolss = yes\n load printers = no\n \
         server multi channel support = yes\n strict sync = yes\n map to guest = never\n {global}\n\
         [share]\n path = {at}/share\n read only = no\n\
         [sealed]\n path = {at}/share\n read only = no\n smb encrypt = required\n\
         [readonly]\n path = {at}/share\n read only = yes\n"
    );
    fs::write(&config, text).expect("a configuration");
    let mut set = Command::new("/usr/bin/smbpasswd")
        .args(["-c", &config.display().to_string(), "-s", "-a", "root"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("smbpasswd");
    set.stdin
        .take()
        .expect("a pipe")
        .write_all(format!("{PASSWORD}\n{PASSWORD}\n").as_bytes())
        .expect("asked");
    assert!(set.wait().expect("reaped").success(), "smbpasswd failed");
    drop(held);
    let child = Command::new("/usr/sbin/smbd")
        .args(["-F", "--no-process-group", "-s", &config.display().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A group of its own: its children are stopped with it, and nobody else.
        .process_group(0)
        .spawn()
        .expect("smbd");
    let mut server = Smbd { child, port, dir };
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(server.child.try_wait().expect("asked").is_none(), "smbd ended");
        assert!(begun.elapsed() < Duration::from_secs(30), "smbd does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(server)
}

impl Smbd {
    pub fn uri(&self, share: &str, file: &str, options: &str) -> Uri {
        let password = PASSWORD.replace(' ', "%20");
        let port = self.port;
        format!("smb://root:{password}@127.0.0.1:{port}/{share}/{file}?{options}")
            .parse()
            .expect("an address")
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join("share").join(file)
    }

    /// A file of so many bytes, each counted up.
    pub fn file(&self, name: &str, bytes: usize) {
        fs::write(self.path(name), (0..bytes).map(|at| (at / 512) as u8).collect::<Vec<_>>())
            .expect("a file");
    }

    pub fn queue(&self, options: &str, depth: u32, block: u32, connections: u32) -> SmbQueue {
        let uri = self.uri("share", "data", options);
        SmbQueue::open(&uri, spec(depth, block, connections)).expect("the file opens")
    }

    /// Stop it and its children, and wait for it.
    pub fn stop(&mut self) {
        // SAFETY: a signal to the group that this process made for it and that is not reaped yet.
        unsafe { libc::kill(-(self.child.id() as libc::pid_t), libc::SIGKILL) };
        let _reaped = self.child.wait();
    }
}

impl Drop for Smbd {
    fn drop(&mut self) {
        if self.child.try_wait().ok().flatten().is_none() {
            self.stop();
        }
    }
}

pub fn spec(depth: u32, block: u32, connections: u32) -> OpenSpec {
    OpenSpec { depth, block, connections, write: true, ..OpenSpec::default() }
}

/// One I/O on slot 0, waited for; its result.
pub fn one(queue: &mut SmbQueue, op: Op, offset: u64, len: u32) -> i32 {
    queue.push(0, Io::new(op, 0, offset, len));
    queue.submit(1, Some(Duration::from_secs(30))).expect("the connection holds");
    let mut results = Vec::new();
    queue.reap(|completion| results.push(completion.result));
    assert_eq!(results.len(), 1, "an answer within 30 s");
    results[0]
}
