//! What the model did: exact counts, not measurements.

use super::Op;
use serde::Serialize;

/// One direction since the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Direction {
    /// I/Os that arrived.
    pub n: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that began where the one before of this direction ended.
    pub sequential: u64,
    /// Time from arrival to the begin of service, caps included.
    pub wait_ns: u64,
    /// Time of service: position and transfer included.
    pub svc_ns: u64,
    /// The longest of all from arrival to answer.
    pub max_ns: u64,
    /// Answered with EIO.
    pub errors: u64,
    /// Sum over the I/Os of how many were under way when they came, themselves included.
    pub depth_sum: u64,
}

/// A count and the time it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Span {
    /// How often.
    pub n: u64,
    /// How long in all.
    pub ns: u64,
}

/// A count and its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// How often.
    pub n: u64,
    /// How much in all.
    pub bytes: u64,
}

/// The read cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReadCacheTruth {
    /// Reads that it answered whole.
    pub hits: u64,
    /// Reads that went to the medium.
    pub misses: u64,
}

/// The write cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WriteCacheTruth {
    /// Writes that found room at once.
    pub absorbed: u64,
    /// Writes that waited for room.
    pub full: u64,
    /// How long they waited.
    pub full_ns: u64,
    /// Acknowledged and not yet on the medium, now.
    pub dirty_bytes: u64,
}

/// Whole blocks of the medium, when it works in blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BlockTruth {
    /// Blocks that were read, those of `rmw` among them.
    pub read: u64,
    /// Blocks that were written.
    pub written: u64,
    /// Parts of I/Os that touched one block more than so many bytes need.
    pub straddled: u64,
    /// Blocks that were read because a write covers only a part of them, and what that took.
    pub rmw: Span,
}

/// The heads of all members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HeadTruth {
    /// Seeks and their time.
    pub seek: Span,
    /// Waits for the platter and their time.
    pub rotation: Span,
    /// I/Os near the head that waited for more than half a turn, because they came late or out of order.
    pub rotations_lost: u64,
    /// Reads that the drive had read ahead, or was about to.
    pub read_ahead: u64,
}

/// One member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemberTruth {
    /// Parts of I/Os that it served.
    pub n: u64,
    /// Time of service, summed over its servers.
    pub busy_ns: u64,
}

/// Everything since the last reset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Truth {
    /// When counting began, in the disk's time.
    pub since_ns: u64,
    /// How long ago that is.
    pub elapsed_ns: u64,
    /// Reads.
    pub read: Direction,
    /// Writes.
    pub write: Direction,
    /// Flushes.
    pub flush: Span,
    /// Discards.
    pub discard: Amount,
    /// I/Os that a cap held back.
    pub capped: Span,
    /// Work that a stall or a slow phase lengthened, and by how much.
    pub slowed: Span,
    /// The most I/Os under way at one time.
    pub depth_max: u64,
    /// The read cache.
    pub read_cache: ReadCacheTruth,
    /// The write cache.
    pub write_cache: WriteCacheTruth,
    /// Blocks.
    pub block: BlockTruth,
    /// Seeks and rotations.
    pub head: HeadTruth,
    /// Each member.
    pub members: Vec<MemberTruth>,
}

impl Truth {
    pub(super) fn direction(&mut self, op: Op) -> &mut Direction {
        match op {
            Op::Read => &mut self.read,
            Op::Write => &mut self.write,
        }
    }
}
