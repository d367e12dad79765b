//! What one thread, or all of them, did and found.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::fault_log::FaultLog;

/// A request that did not complete in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Stuck {
    /// `read`, `write`, `flush`, or `submit` for a thread that does not return from the system.
    pub op: &'static str,
    /// Byte offset at the target; none for a flush or a thread.
    pub offset: Option<u64>,
    /// How long it had been waited for, in ns.
    pub age_ns: u64,
}

/// Failures of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Failures {
    pub count: u64,
    /// The first by time in its thread, as a byte offset.
    pub first_offset: u64,
}

/// Why a thread came to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum End {
    /// All passes are done.
    #[default]
    Done,
    /// It was asked to stop.
    Stopped,
    /// Requests did not complete.
    Stuck,
    /// The connection or the ring is gone.
    CarrierLost {
        /// What was said.
        why: String,
    },
    /// The journal cannot be written.
    JournalFailed {
        /// What was said.
        why: String,
    },
}

impl End {
    /// What is told when threads ended differently.
    pub fn weight(&self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Stopped => 1,
            Self::Stuck => 2,
            Self::CarrierLost { .. } => 3,
            Self::JournalFailed { .. } => 4,
        }
    }
}

/// What was done and found.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub flushes: u64,
    pub flush_failures: u64,
    pub flush_unsupported: bool,
    /// By errno; 0 is a short write.
    pub write_failures: BTreeMap<i32, Failures>,
    /// Blocks that the last reading pass came to.
    pub verified: u64,
    pub torn_in_flight: u64,
    pub torn_offsets: Vec<u64>,
    /// Blocks whose last write was not known to be done, read whole: it is there, or an earlier one is.
    pub in_flight_new: u64,
    pub in_flight_old: u64,
    /// Writing passes and reading passes that were completed.
    pub passes: u32,
    pub stuck: Vec<Stuck>,
    pub fault_log: FaultLog,
    pub end: End,
}

impl Tally {
    /// Take in another thread's.
    pub fn merge(&mut self, other: Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.flushes += other.flushes;
        self.flush_failures += other.flush_failures;
        self.flush_unsupported |= other.flush_unsupported;
        for (errno, more) in other.write_failures {
            self.write_failures.entry(errno).and_modify(|f| f.count += more.count).or_insert(more);
        }
        self.verified += other.verified;
        self.torn_in_flight += other.torn_in_flight;
        self.torn_offsets.extend(other.torn_offsets);
        self.in_flight_new += other.in_flight_new;
        self.in_flight_old += other.in_flight_old;
        self.passes = self.passes.min(other.passes);
        self.stuck.extend(other.stuck);
        self.fault_log.merge(other.fault_log);
        if other.end.weight() > self.end.weight() {
            self.end = other.end;
        }
    }
}
