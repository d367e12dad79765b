//! The job, schema 1: all that a run needs to know, as one JSON value.

mod access;
mod rw;

use serde::{Deserialize, Deserializer};
use strata_io::EngineChoice;
use strata_pattern::{DataReduction, Distribution, Segment, Sizes};
use strata_remote::{Kind, Password, schemes};

pub use access::{Order, Range, WeightedTarget, Zone};
pub use rw::Rw;

use crate::error::{Error, Result};

/// One run of one workload on one target, or on several of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Always 1.
    pub schema: u32,
    /// What is loaded.
    pub target: Option<Target>,
    /// In place of `target` and the workload's segments: several, each with its own.
    #[serde(default)]
    pub targets: Vec<WeightedTarget>,
    /// With what.
    pub workload: Workload,
    /// Time before anything is counted, in ns.
    #[serde(default)]
    pub ramp_ns: u64,
    /// Time that is counted, in ns.
    pub runtime_ns: u64,
    /// Length of an interval of the series, in ns.
    #[serde(default = "second")]
    pub interval_ns: u64,
    /// End earlier, after this much.
    #[serde(default)]
    pub stop_after: StopAfter,
    /// What carries the I/Os of a file or block device.
    #[serde(default)]
    pub engine: EngineChoice,
    /// Most I/Os handed over by one submit call. A wait always ends at the first completion, whatever this is.
    #[serde(default = "eight")]
    pub batch: u32,
    /// Processor of each thread, in turn.
    pub pin_cpus: Option<Vec<u32>>,
    /// NUMA node of each thread, in turn: its processors and its memory. Not together with `pin_cpus`.
    pub pin_nodes: Option<Vec<u32>>,
    /// What a failed I/O means.
    #[serde(default)]
    pub on_error: OnError,
    /// How long to wait at the end for what is in flight, in ns; what has not come back by then is stuck.
    #[serde(default = "half_a_minute")]
    pub drain_ns: u64,
    /// When all threads begin, in ns of `CLOCK_MONOTONIC`; without it as soon as all of them are ready. Threads that are
    /// ready later begin at once, as long as the ramp has not passed: what is measured is the same.
    pub start_at_ns: Option<u64>,
    /// The run stops unless it is renewed within so much time, in ns.
    pub lease_ns: Option<u64>,
}

macro_rules! targets {
    (() $($(#[$doc:meta])* $module:ident $Scheme:ident,)*) => {
        /// What is loaded.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
        pub enum Target {
            /// An existing regular file.
            File {
                /// Where.
                path: String,
                /// A descriptor of it that is held open: it is opened beside that, and not by its name.
                fd: Option<i32>,
                /// Past the page cache.
                direct: bool,
                /// Write-through or not.
                #[serde(default)]
                sync: Sync,
                /// Must be false: the engine never creates files.
                #[serde(default)]
                create: bool,
            },
            /// A block device.
            Block {
                /// Where.
                path: String,
                /// As of a file.
                fd: Option<i32>,
                /// Past the page cache.
                direct: bool,
                /// Write-through or not.
                #[serde(default)]
                sync: Sync,
                /// Without it the device is opened read-only and a job that writes is refused.
                #[serde(default)]
                allow_write: bool,
            },
            /// Nothing: the engine's own cost.
            Null {},
            $($(#[$doc])* $Scheme(Remote),)*
        }

        impl Target {
            /// Which scheme leads there and what is said of it, where it is behind a network.
            #[must_use]
            pub fn remote(&self) -> Option<(Kind, &Remote)> {
                match self {
                    Self::File { .. } | Self::Block { .. } | Self::Null {} => None,
                    $(Self::$Scheme(remote) => Some((Kind::$Scheme, remote)),)*
                }
            }
        }
    };
}
schemes! { [targets] }

/// What is loaded behind a network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remote {
    /// Its address.
    pub uri: String,
    /// In place of one in `uri`, where the scheme knows passwords.
    #[serde(default, deserialize_with = "hidden")]
    pub password: Option<Password>,
    /// Connections, distributed over the threads; each thread has at least one of its own.
    #[serde(default = "one")]
    pub connections: u32,
    /// Ask the server to go past its cache, where the protocol can. Nothing tells whether it does.
    #[serde(default)]
    pub direct: bool,
    /// Write-through or not.
    #[serde(default)]
    pub sync: Sync,
    /// Path of the network namespace it is dialled from; without one the process's own.
    pub netns: Option<String>,
}

impl Job {
    /// Whether any of it is behind a network.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.target
            .iter()
            .chain(self.targets.iter().map(|weighted| &weighted.target))
            .any(|target| target.remote().is_some())
    }
}

impl Target {
    /// The word by which a job names its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::File { .. } => "file",
            Self::Block { .. } => "block",
            Self::Null {} => "null",
            _ => self.remote().map_or("", |(kind, _)| kind.name()),
        }
    }
}

/// When a write is done.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    /// When the target says so.
    #[default]
    None,
    /// When it is on the medium, for whatever is written through the open file (O_DSYNC).
    Dsync,
    /// When it is on the medium, asked with each write (RWF_DSYNC).
    RwfDsync,
}

impl Sync {
    /// The flags of each write.
    #[must_use]
    pub fn write_flags(self) -> i32 {
        if self == Self::RwfDsync { libc::RWF_DSYNC } else { 0 }
    }

    /// As it stands in a job and a result.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Dsync => "dsync",
            Self::RwfDsync => "rwf_dsync",
        }
    }
}

/// With what the target is loaded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Direction and order.
    pub rw: Rw,
    /// Bytes of each I/O; with `bssplit` of the longest.
    pub bs: u32,
    /// Several sizes.
    pub bssplit: Option<Sizes>,
    /// Share of reads in percent, for the mixed directions.
    #[serde(default = "fifty")]
    pub rwmixread: u8,
    /// I/Os of a thread that follow each other in one direction, for the mixed ones.
    #[serde(default = "one")]
    pub rwmix_run: u32,
    /// Order of the blocks; without it sequential in parts, or uniform.
    pub order: Option<Order>,
    /// I/Os begin at multiples of this many bytes; without it of `bs` (or what all sizes are multiples of).
    pub align: Option<u32>,
    /// Offset added to each aligned start, in bytes.
    #[serde(default)]
    pub misalign: u32,
    /// Only this piece of the logical space.
    pub range: Option<Range>,
    /// `fsync` after so many writes of a thread to a target; 0: never.
    #[serde(default)]
    pub fsync: u32,
    /// `fdatasync` after so many writes of a thread to a target; 0: never.
    #[serde(default)]
    pub fdatasync: u32,
    /// What written data is like; without it incompressible, in the cheapest way.
    pub data: Option<DataReduction>,
    /// Written data is zeros, whatever `data` says.
    #[serde(default)]
    pub zero_buffers: bool,
    /// How I/Os are distributed over several targets.
    #[serde(default)]
    pub deal: Distribution,
    /// I/Os in flight for each thread.
    pub iodepth: u32,
    /// Threads.
    #[serde(default = "one")]
    pub threads: u32,
    /// Seed of offsets, mix, gaps and data.
    #[serde(default = "one_seed")]
    pub seed: u64,
    /// Open loop at this rate; closed loop without.
    pub rate_iops: Option<Rate>,
    /// Ceilings and pauses of a closed loop.
    pub limits: Option<Limits>,
    /// The blocks to use: logical ranges and where they lie at the one target.
    #[serde(default)]
    pub segments: Vec<Segment>,
}

/// An open-loop rate, over all threads.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Starts a second.
    pub iops: f64,
    /// How they are spaced.
    pub process: Process,
    /// Starts of one thread that share an instant; the rate stays what it is.
    #[serde(default = "one")]
    pub burst: u32,
}

/// What holds a closed loop back. At least one of the ceilings or the pause.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Ceiling over all threads, I/Os a second.
    pub iops: Option<f64>,
    /// Ceiling over all threads, bytes a second.
    pub bytes_per_s: Option<f64>,
    /// I/Os of one thread after which it waits for all of them, then pauses.
    #[serde(default = "one")]
    pub think_every: u32,
    /// How long it pauses, in ns.
    #[serde(default)]
    pub think_ns: u64,
}

/// How the starts of an open loop are spaced.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// Evenly.
    Constant,
    /// With independent exponential gaps.
    Poisson,
}

/// Limits over all threads, counted from the end of the ramp.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopAfter {
    /// I/Os, flushes included.
    pub ios: Option<u64>,
    /// Bytes, rounded up to whole I/Os of average length.
    pub bytes: Option<u64>,
}

/// What a failed I/O means. A full target (`ENOSPC`, `EDQUOT`) ends the run in any case.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Count it.
    #[default]
    Continue,
    /// End the run.
    Stop,
}

fn hidden<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<Password>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.map(Password::new))
}
fn second() -> u64 {
    1_000_000_000
}
fn half_a_minute() -> u64 {
    30_000_000_000
}
fn eight() -> u32 {
    8
}
fn one() -> u32 {
    1
}
fn one_seed() -> u64 {
    1
}
fn fifty() -> u8 {
    50
}

impl Job {
    /// Read and check a job.
    ///
    /// # Errors
    /// [`Error::Job`] with every problem found (a syntax error or unknown key hides the others).
    pub fn parse(json: &str) -> Result<Self> {
        let job: Self = serde_json::from_str(json).map_err(|e| Error::Job(vec![e.to_string()]))?;
        let problems = crate::validate::problems(&job);
        if problems.is_empty() { Ok(job) } else { Err(Error::Job(problems)) }
    }
}
