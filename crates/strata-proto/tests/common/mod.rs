//! What the tests of the server share.
#![allow(dead_code)] // each test binary uses its part

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use strata_io::{Completion, Io, Op, Queue};
use strata_proto::nbd::server::{Config, Server};
use strata_proto::nbd::{NbdQueue, OpenSpec, Uri};

/// A server on a unix socket in a directory of its own.
pub struct Target {
    pub server: Server,
    pub uri: Uri,
    pub socket: PathBuf,
    pub dir: tempfile::TempDir,
}

/// Start a server; `backing` and `shape` are JSON.
pub fn target(backing: &str, shape: &str) -> Target {
    target_with(backing, &format!(r#""shape":{shape}"#))
}

/// The same, with more keys of its configuration.
pub fn target_with(backing: &str, more: &str) -> Target {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let socket = dir.path().join("s");
    let json = format!(r#"{{"listen":{{"unix":"{}"}},"backing":{backing},{more}}}"#, socket.display());
    let config: Config = serde_json::from_str(&json).expect(&json);
    let server = Server::start(&config).expect("the server starts");
    let uri = format!("nbd+unix:///?socket={}", socket.display()).parse().expect("a good address");
    Target { server, uri, socket, dir }
}

pub const MEMORY: &str = r#"{"kind":"memory","size_bytes":67108864}"#;
pub const NULL: &str = r#"{"kind":"null","size_bytes":67108864}"#;

impl Target {
    pub fn queue(&self, depth: u32, block: u32, connections: u32) -> NbdQueue {
        let spec = OpenSpec { depth, block, connections, dsync: false };
        NbdQueue::open(&self.uri, spec).expect("the client connects")
    }

    /// The same target, whose queues ask for structured replies.
    pub fn structured(mut self) -> Self {
        self.uri = format!("{}&replies=structured", self.uri).parse().expect("a good address");
        self
    }

    /// A raw connection with a bounded wait, after the greeting.
    pub fn raw(&self) -> UnixStream {
        let mut stream = UnixStream::connect(&self.socket).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        stream.read_exact(&mut [0; 18]).expect("a greeting");
        stream
    }

    /// A raw connection in its transmission phase, with simple replies.
    pub fn raw_transmission(&self) -> UnixStream {
        let mut stream = self.raw();
        stream.write_all(&3_u32.to_be_bytes()).expect("flags");
        stream.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0").expect("export name");
        stream.read_exact(&mut [0; 10]).expect("size and flags");
        stream
    }

    /// The server still serves: a fresh client writes and reads back.
    pub fn still_serves(&self) {
        let mut queue = self.queue(1, 4096, 1);
        assert_eq!(one(&mut queue, Op::Read, 0, 4096), 4096);
    }
}

/// One I/O on slot 0, waited for; its result.
pub fn one(queue: &mut NbdQueue, op: Op, offset: u64, len: u32) -> i32 {
    queue.push(0, Io::new(op, 0, offset, len));
    let all = wait_for(queue, 1);
    all[0].result
}

/// Wait for `count` completions, at most 30 s.
pub fn wait_for(queue: &mut NbdQueue, count: usize) -> Vec<Completion> {
    let mut all = Vec::new();
    let until = Instant::now() + Duration::from_secs(30);
    while all.len() < count && Instant::now() < until {
        queue.submit(1, Some(Duration::from_secs(1))).expect("the connection holds");
        queue.reap(|completion| all.push(completion));
    }
    assert_eq!(all.len(), count, "completions within 30 s");
    all
}

/// Keep `depth` I/Os of `block` bytes in flight until `count` are done; seconds it took.
pub fn saturate(queue: &mut NbdQueue, op: Op, depth: u32, block: u32, count: u32) -> f64 {
    let begun = Instant::now();
    let mut pushed = 0;
    for slot in 0..depth.min(count) {
        queue.push(slot, Io::new(op, 0, u64::from(slot) * u64::from(block), block));
        pushed += 1;
    }
    let mut done = 0;
    while done < count {
        queue.submit(1, Some(Duration::from_secs(30))).expect("the connection holds");
        let mut free = Vec::new();
        queue.reap(|completion| {
            assert_eq!(completion.result, block as i32);
            free.push(completion.slot);
        });
        assert!(!free.is_empty(), "no completion within 30 s");
        for slot in free {
            done += 1;
            if pushed < count {
                queue.push(slot, Io::new(op, 0, u64::from(slot) * u64::from(block), block));
                pushed += 1;
            }
        }
    }
    begun.elapsed().as_secs_f64()
}
