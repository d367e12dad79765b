//! What is to be verified and how, as one JSON value, schema 1.

use std::path::PathBuf;

use serde::Deserialize;
use strata_io::EngineChoice;
use strata_io::bounds::{BS_MOST, BUFFERS_MOST, IODEPTH_MOST, THREADS_MOST};
use strata_remote::{Kind, schemes};

use crate::block_states::{Loss, MOST_BLOCKS};
use crate::error::{Error, Result};
use crate::journal::Head;
use crate::stamp::{Layout, MIN_SECTOR};

/// One verification.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Always 1.
    pub schema: u32,
    /// What is written and read.
    pub target: Target,
    /// The endpoint as the user named it, for the journal.
    pub endpoint: String,
    /// The uuid of the mark of Strata's own file, for the journal.
    pub mark: Option<String>,
    /// Byte offset of the first block at the target.
    pub first_byte: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of a block.
    pub bs: u32,
    /// Bytes of a sector.
    pub sector: u32,
    /// I/Os in flight for each thread.
    pub iodepth: u32,
    /// Threads; each has a part of the blocks.
    pub threads: u32,
    /// Order of the blocks in a pass.
    pub order: Order,
    /// Seed of the orders.
    pub seed: u64,
    /// Told apart from other runs by this.
    pub run: u64,
    /// What to do.
    pub mode: Mode,
    /// Pairs of a writing and a reading pass; without end when null.
    pub passes: Option<u32>,
    /// Share of the blocks that a writing pass after the first writes; the others it reads.
    pub write_percent: u8,
    /// No writing pass goes on beyond this, in ns.
    pub runtime_ns: Option<u64>,
    /// Writes of a thread between two flushes; 0: at the end of each writing pass only.
    pub flush_every: u64,
    /// Where to keep what was written.
    pub journal: Option<JournalSpec>,
    /// What the target may have gone through before a check.
    pub loss: Loss,
    /// A write in flight has to be there wholly or not at all.
    pub atomic: bool,
    /// A request that takes longer is stuck, in ns.
    pub stuck_after_ns: u64,
    /// Faults to list.
    pub list: u32,
    /// What carries the I/Os of a file or block device.
    pub engine: EngineChoice,
}

macro_rules! targets {
    (() $($(#[$doc:meta])* $module:ident $Scheme:ident,)*) => {
        /// What is written and read.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
        pub enum Target {
            /// A regular file.
            File {
                /// Where.
                path: PathBuf,
                /// A descriptor of it that is held open: it is opened beside that, and not by its name.
                fd: Option<i32>,
                /// Past the page cache.
                direct: bool,
                /// Write-through.
                dsync: bool,
            },
            /// A block device.
            Block {
                /// Where.
                path: PathBuf,
                /// As of a file.
                fd: Option<i32>,
                /// Past the page cache.
                direct: bool,
                /// Write-through.
                dsync: bool,
                /// Without it only a check is carried out.
                allow_write: bool,
            },
            $($(#[$doc])* $Scheme(Remote),)*
        }

        impl Target {
            /// Which scheme leads there and what is said of it, where it is behind a network.
            #[must_use]
            pub fn remote(&self) -> Option<(Kind, &Remote)> {
                match self {
                    Self::File { .. } | Self::Block { .. } => None,
                    $(Self::$Scheme(remote) => Some((Kind::$Scheme, remote)),)*
                }
            }

            pub(crate) fn dsync(&self) -> bool {
                match self {
                    Self::File { dsync, .. } | Self::Block { dsync, .. } => *dsync,
                    $(Self::$Scheme(remote) => remote.dsync,)*
                }
            }
        }
    };
}
schemes! { [targets] }

/// What is behind a network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remote {
    /// Its address.
    pub uri: String,
    /// Connections, distributed over the threads.
    pub connections: u32,
    /// Write-through.
    pub dsync: bool,
}

/// Order of the blocks in a pass.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A random permutation, another in each pass.
    Random,
    /// Rising offsets.
    Sequential,
}

/// What to do.
#[derive(Clone, Copy, Debug, Deserialize, serde::Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Write and read.
    Run,
    /// Compare the data with the journal; write nothing.
    Check,
    /// Check, then write and read on.
    Resume,
}

/// Where to keep what was written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalSpec {
    /// The file.
    pub path: PathBuf,
    /// Make each batch durable before its writes begin: for a power loss of this machine.
    pub sync: bool,
}

impl Job {
    /// Read and check a job.
    ///
    /// # Errors
    /// Every problem of its values at once.
    pub fn parse(json: &str) -> Result<Self> {
        let job: Self = serde_json::from_str(json).map_err(|e| Error::Job(vec![format!("job: {e}")]))?;
        let problems = job.problems();
        if problems.is_empty() { Ok(job) } else { Err(Error::Job(problems)) }
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut expect = |ok: bool, text: String| {
            if !ok {
                problems.push(text);
            }
        };
        let (bs, sector) = (self.bs, self.sector);
        expect(self.schema == 1, format!("schema: {} is not 1", self.schema));
        expect(
            sector >= MIN_SECTOR && sector.is_multiple_of(8),
            format!("sector: {sector} bytes; it must be a multiple of 8 and at least {MIN_SECTOR}"),
        );
        expect(
            sector > 0 && bs > 0 && bs.is_multiple_of(sector) && bs <= BS_MOST,
            format!("bs: {bs} bytes; it must be a multiple of the sector ({sector}), at most {BS_MOST}"),
        );
        expect(
            (1..=MOST_BLOCKS).contains(&self.blocks),
            format!(
                "size: {} blocks; 1 to {MOST_BLOCKS} are supported; use larger blocks or less space",
                self.blocks
            ),
        );
        expect(
            self.blocks.checked_mul(bs.into()).and_then(|n| n.checked_add(self.first_byte)).is_some(),
            "size: the last block lies beyond 2^64".to_owned(),
        );
        expect(
            (1..=IODEPTH_MOST).contains(&self.iodepth),
            format!("iodepth: {} is not 1 to {IODEPTH_MOST}", self.iodepth),
        );
        expect(
            (1..=THREADS_MOST).contains(&self.threads),
            format!("threads: {} is not 1 to {THREADS_MOST}", self.threads),
        );
        let memory = u64::from(bs).saturating_mul(self.iodepth.into()).saturating_mul(self.threads.into());
        expect(
            memory <= BUFFERS_MOST,
            format!("bs × iodepth × threads is {memory} bytes of buffers, above {} GiB", BUFFERS_MOST >> 30),
        );
        expect(
            u64::from(self.threads) <= self.blocks,
            "threads: more than there are blocks; use fewer".to_owned(),
        );
        expect(self.write_percent <= 100, format!("write_percent: {} is not 0 to 100", self.write_percent));
        expect(self.passes != Some(0), "passes: at least 1".to_owned());
        expect(
            self.passes.is_some() || self.runtime_ns.is_some(),
            "passes: with neither passes nor runtime it would never end".to_owned(),
        );
        expect(self.stuck_after_ns > 0, "stuck_after_ns: 0 would call every request stuck".to_owned());
        expect(
            self.mode == Mode::Run || self.journal.is_some(),
            "journal: a check needs the journal of the run".to_owned(),
        );
        expect(
            self.mode == Mode::Check || !matches!(self.target, Target::Block { allow_write: false, .. }),
            "target.allow_write: writing to a device has to be allowed".to_owned(),
        );
        problems
    }

    /// Where the blocks lie.
    #[must_use]
    pub fn layout(&self) -> Layout {
        Layout { run: self.run, first_byte: self.first_byte, block_bytes: self.bs, sector_bytes: self.sector }
    }

    /// What its journal begins with.
    #[must_use]
    pub fn head(&self) -> Head {
        Head {
            run: self.run,
            endpoint: self.endpoint.clone(),
            mark: self.mark.clone(),
            first_byte: self.first_byte,
            blocks: self.blocks,
            block_bytes: self.bs,
            sector_bytes: self.sector,
            durable: self.target.dsync(),
        }
    }

    /// Slots of a thread's queue: its I/Os, and one for its flushes.
    #[must_use]
    pub(crate) fn slots(&self) -> u32 {
        self.iodepth + 1
    }

    /// The slot that no read or write uses.
    #[must_use]
    pub(crate) fn flush_slot(&self) -> u32 {
        self.iodepth
    }

    /// First block and end of the part of a thread.
    #[must_use]
    pub fn part(&self, thread: u32) -> (u64, u64) {
        let cut = |n: u32| (u128::from(self.blocks) * u128::from(n) / u128::from(self.threads)) as u64;
        (cut(thread), cut(thread + 1))
    }
}
