//! What a target is asked to be.

use std::path::PathBuf;

use serde::Deserialize;

use super::faults::FaultConfig;
use crate::nbd::codec::MAX_NAME;

/// A target's configuration; the JSON of `strata target` has exactly these keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where to listen.
    pub listen: Listen,
    /// Network namespace to listen in; without one the process's own.
    pub netns: Option<PathBuf>,
    /// Name of the one export.
    #[serde(default)]
    pub export: String,
    /// Descriptor to which one line `{"port":…,"pid":…}` is written once clients can connect.
    pub ready_fd: Option<i32>,
    /// What is served.
    pub backing: BackingConfig,
    /// How it is slowed down.
    #[serde(default)]
    pub shape: ShapingConfig,
    /// Announce that several connections see one coherent disk.
    #[serde(default = "yes")]
    pub multi_conn: bool,
    /// Clients beyond this many are hung up on.
    #[serde(default = "default_connections")]
    pub max_connections: usize,
    /// A unix socket on which its counters are told, made at start and removed at stop; `@name` is in no directory.
    pub stats: Option<PathBuf>,
    /// Only processes of the user that runs it are served; everybody else is hung up on.
    #[serde(default)]
    pub own_user: bool,
    /// So many bytes at the start of the export are never written to, whoever asks: the mark of a test file.
    #[serde(default)]
    pub guarded_bytes: u64,
    /// What it does wrong on purpose.
    #[serde(default)]
    pub faults: Vec<FaultConfig>,
}

/// Where to listen.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Listen {
    /// `host:port`; port 0 lets the kernel choose.
    Tcp(String),
    /// A unix socket, made at start and removed at stop.
    Unix(PathBuf),
}

/// What is served.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum BackingConfig {
    /// Reads give zeroes, writes vanish.
    Null {
        /// Size in bytes.
        size_bytes: u64,
    },
    /// Anonymous memory, sparse until written.
    Memory {
        /// Size in bytes.
        size_bytes: u64,
        /// Refuse writes.
        #[serde(default)]
        read_only: bool,
    },
    /// An existing file or block device.
    File {
        /// Where it is.
        path: PathBuf,
        /// A descriptor of it that this process was given: it is opened beside that, and not by its name.
        fd: Option<i32>,
        /// Refuse writes; the default.
        #[serde(default = "yes")]
        read_only: bool,
        /// Bypass this machine's page cache; the default.
        #[serde(default = "yes")]
        direct: bool,
    },
}

/// How a target is slowed down; the default does not.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShapingConfig {
    /// The wire, bytes per second in each direction, all connections together.
    pub bandwidth_bytes_per_s: Option<u64>,
    /// The wire, nanoseconds added to each round trip, handshake included.
    pub latency_ns: u64,
    /// The most requests per second, evenly spaced.
    pub iops: Option<f64>,
    /// Requests served at once, over all connections.
    pub service_threads: usize,
    /// Nanoseconds each request holds its thread beside the real I/O.
    pub service_time_ns: u64,
}

impl Default for ShapingConfig {
    fn default() -> Self {
        Self {
            bandwidth_bytes_per_s: None,
            latency_ns: 0,
            iops: None,
            service_threads: 8,
            service_time_ns: 0,
        }
    }
}

const fn yes() -> bool {
    true
}

const fn default_connections() -> usize {
    64
}

/// The longest delay that may be asked for: a minute. More is a mistake in the unit.
const MAX_DELAY_NS: u64 = 60_000_000_000;

impl Config {
    /// Every problem of the values at once, or nothing.
    ///
    /// # Errors
    /// A text that names each field, what is wrong with it and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        let mut problems = Vec::new();
        let mut expect = |ok: bool, text: &str| {
            if !ok {
                problems.push(text.to_owned());
            }
        };
        let shape = &self.shape;
        expect(self.export.len() <= MAX_NAME, "export: the name is longer than 4096 bytes");
        expect(
            shape.bandwidth_bytes_per_s != Some(0),
            "shape.bandwidth_bytes_per_s: 0 would never send a byte; leave it out for no limit",
        );
        expect(
            shape.iops.is_none_or(|iops| iops.is_finite() && iops >= 0.01),
            "shape.iops: must be a number of at least 0.01; leave it out for no limit",
        );
        expect(shape.latency_ns <= MAX_DELAY_NS, "shape.latency_ns: more than a minute; the unit is ns");
        expect(
            shape.service_time_ns <= MAX_DELAY_NS,
            "shape.service_time_ns: more than a minute; the unit is ns",
        );
        expect((1..=1024).contains(&shape.service_threads), "shape.service_threads: must be 1 to 1024");
        expect((1..=4096).contains(&self.max_connections), "max_connections: must be 1 to 4096");
        if let BackingConfig::Null { size_bytes } | BackingConfig::Memory { size_bytes, .. } = self.backing {
            expect(size_bytes <= i64::MAX as u64, "backing.size_bytes: more than 2^63-1");
        }
        let keeps = match self.backing {
            BackingConfig::Null { .. } => false,
            BackingConfig::Memory { read_only, .. } | BackingConfig::File { read_only, .. } => !read_only,
        };
        expect(
            keeps || self.faults.is_empty(),
            "faults: they apply to writes; serve writable memory or a writable file",
        );
        problems.extend(self.faults.iter().filter_map(FaultConfig::problem));
        if problems.is_empty() { Ok(()) } else { Err(format!("target: {}", problems.join("; "))) }
    }
}
