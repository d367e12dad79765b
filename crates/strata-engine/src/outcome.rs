//! The result, schema 1, as it is written in JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::control::Reason;
use crate::instants::Instants;

/// Everything a run measured.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub schema: u32,
    pub engine: EngineInfo,
    pub effective: Effective,
    pub started_unix_ns: u64,
    pub instants: Instants,
    pub ramp_ns: u64,
    pub measured_ns: u64,
    pub stop_reason: Reason,
    /// What ended the run before its time, naming the endpoint; `null` when nothing did.
    pub message: Option<String>,
    pub issued: u64,
    pub completed: u64,
    pub errored: u64,
    pub stuck: u64,
    /// The I/Os that never came back, oldest first; the first 16 of each thread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stuck_ios: Vec<StuckIo>,
    pub read: Direction,
    pub write: Direction,
    /// Flushes; absent when there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<Direction>,
    pub intervals: Vec<Interval>,
    pub threads: Vec<Thread>,
    pub cpu: Cpu,
    pub lag: Option<String>,
}

/// What carried the I/Os and what told the time.
#[derive(Clone, Debug, Serialize)]
pub struct EngineInfo {
    pub kind: &'static str,
    pub setup: Vec<String>,
    pub fallback_reason: Option<String>,
    pub build: BuildInfo,
    pub clock: ClockInfo,
}

/// What this build is. Filled in by whoever links the engine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BuildInfo {
    /// Version of the package.
    pub version: String,
    /// `release` or `debug`.
    pub profile: String,
    /// Revision, with `-dirty` when the tree had changes; or `unknown`.
    pub git: String,
    /// Layout of the histograms.
    pub hist: String,
    /// Target triple.
    pub target: String,
}

/// The measuring clock.
#[derive(Clone, Debug, Serialize)]
pub struct ClockInfo {
    pub kind: &'static str,
    pub resolution_ns: u64,
    pub read_cost_ns: u64,
}

/// What was really in force.
#[derive(Clone, Debug, Serialize)]
pub struct Effective {
    /// O_DIRECT, read back from the open file.
    pub direct: bool,
    /// `none`, `dsync` (read back) or `rwf_dsync` (a flag of each write, which a kernel without it refuses).
    pub sync: &'static str,
    /// Alignment direct I/O demands of memory, bytes.
    pub mem_align: u32,
    /// Alignment direct I/O demands of offsets and lengths, bytes.
    pub offset_align: u32,
    /// Number of blocks in the lists: places where an I/O may begin.
    pub blocks: u64,
    /// Bytes of the longest I/O.
    pub block_bytes: u32,
    /// Connections (1 where there are none).
    pub connections: u32,
    /// The network namespace the connections were made from, where it is not the process's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// What only the scheme of the target has to say, under its key.
    #[serde(flatten)]
    pub agreed: BTreeMap<&'static str, serde_json::Value>,
    /// Each of several files or devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<EffectiveTarget>,
}

impl Effective {
    /// Of so many blocks at something that has neither a cache nor connections.
    pub(crate) fn plain(blocks: u64, block_bytes: u32) -> Self {
        Self {
            direct: false,
            sync: "none",
            mem_align: 1,
            offset_align: 1,
            blocks,
            block_bytes,
            connections: 1,
            netns: None,
            agreed: BTreeMap::new(),
            targets: Vec::new(),
        }
    }
}

/// What was in force at one of several targets; see [`Effective`].
#[derive(Clone, Debug, Serialize)]
pub struct EffectiveTarget {
    pub path: String,
    pub size_bytes: u64,
    pub direct: bool,
    pub sync: &'static str,
    pub mem_align: u32,
    pub offset_align: u32,
    pub blocks: u64,
    /// Its share of the I/Os over the sum of all weights.
    pub weight: u32,
}

/// One direction, whole measured span.
#[derive(Debug, Serialize)]
pub struct Direction {
    pub ops: u64,
    pub bytes: u64,
    pub errors: Vec<ErrorLine>,
    pub service_time: String,
    pub response_time: Option<String>,
    pub submit_latency: String,
    pub service_sum_ns: u64,
    /// Times beyond an hour, recorded as one; absent when there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub clamped: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Failed I/Os of one kind.
#[derive(Debug, Serialize)]
pub struct ErrorLine {
    pub errno: i32,
    pub name: String,
    pub count: u64,
    pub first_offset: u64,
}

/// An I/O that never came back.
#[derive(Debug, Serialize)]
pub struct StuckIo {
    pub thread: u32,
    /// `read`, `write`, `fsync` or `fdatasync`.
    pub op: &'static str,
    /// Which of the targets, from 0.
    pub target: u16,
    /// Byte offset there.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// Time since its issue when it was given up, in ns.
    pub age_ns: u64,
}

/// One interval.
#[derive(Clone, Debug, Serialize)]
pub struct Interval {
    pub start_ns: u64,
    pub end_ns: u64,
    pub read: IntervalDirection,
    pub write: IntervalDirection,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<IntervalDirection>,
}

/// One direction of one interval.
#[derive(Clone, Debug, Serialize)]
pub struct IntervalDirection {
    pub ops: u64,
    pub bytes: u64,
    pub errors: u64,
    pub service_time: Option<String>,
    pub service_sum_ns: u64,
}

/// One thread, measured span.
#[derive(Clone, Debug, Serialize)]
pub struct Thread {
    pub read_ops: u64,
    pub write_ops: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Both directions; `null` without an I/O.
    pub service: Option<Service>,
    pub user_ns: u64,
    pub system_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Time runnable and not running; `null` when the kernel does not say.
    pub run_delay_ns: Option<u64>,
    /// Processors it was told to run on; `null` when it was not.
    pub pinned: Option<String>,
    /// Processors it may run on, read back, as the kernel lists them: `0-3,8`.
    pub cpus: String,
    /// Memory policy, read back; `null` when the kernel does not say.
    pub memory: Option<&'static str>,
}

/// Service times of one thread, in ns.
#[derive(Clone, Debug, Serialize)]
pub struct Service {
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

/// The whole process, measured span.
#[derive(Clone, Debug, Serialize)]
pub struct Cpu {
    pub user_ns: u64,
    pub system_ns: u64,
    pub run_delay_ns: Option<u64>,
}
