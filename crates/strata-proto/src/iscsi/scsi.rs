//! SCSI commands (SPC, SBC) and what a unit says when one fails.

use strata_io::Op;

pub(super) const GOOD: u8 = 0x00;
const CHECK_CONDITION: u8 = 0x02;
const BUSY: u8 = 0x08;
const RESERVATION_CONFLICT: u8 = 0x18;
const TASK_SET_FULL: u8 = 0x28;

pub(super) const UNIT_ATTENTION: u8 = 6;

/// Bytes of sense data that are looked at.
pub(super) const SENSE: usize = 20;

/// Sense key, additional code and its qualifier.
pub(super) type Sense = (u8, u8, u8);

/// A command descriptor block, as a PDU holds it.
pub(super) type Cdb = [u8; 16];

fn cdb(opcode: u8, rest: &[u8]) -> Cdb {
    let mut out = [0; 16];
    out[0] = opcode;
    out[1..=rest.len()].copy_from_slice(rest);
    out
}

pub(super) fn test_unit_ready() -> Cdb {
    cdb(0x00, &[])
}

pub(super) fn inquiry(len: u8) -> Cdb {
    cdb(0x12, &[0, 0, 0, len])
}

/// All mode pages, of which the head alone interests.
pub(super) fn mode_sense(len: u8) -> Cdb {
    cdb(0x1A, &[0x08, 0x3F, 0, len])
}

pub(super) fn read_capacity(len: u8) -> Cdb {
    cdb(0x9E, &[0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, len])
}

/// The command of an I/O of whole blocks; `fua`: a write is durable when it is answered.
pub(super) fn of_io(op: Op, block: u64, blocks: u32, fua: bool) -> Cdb {
    let opcode = match op {
        Op::Read => 0x88,
        Op::Write => 0x8A,
        // All of the unit.
        Op::Fsync | Op::Fdatasync => return cdb(0x35, &[]),
    };
    let mut out = cdb(opcode, &[if fua && op == Op::Write { 0x08 } else { 0 }]);
    out[2..10].copy_from_slice(&block.to_be_bytes());
    out[10..14].copy_from_slice(&blocks.to_be_bytes());
    out
}

/// Sense key, additional code and its qualifier of sense data in either format; zeroes where they are not there.
pub(super) fn sense(data: &[u8]) -> Sense {
    let at = |n: usize| data.get(n).copied().unwrap_or(0);
    match at(0) & 0x7F {
        0x72 | 0x73 => (at(1) & 0x0F, at(2), at(3)),
        _ => (at(2) & 0x0F, at(12), at(13)),
    }
}

/// The errno that a status, with its sense, stands for.
pub(super) fn errno_of(status: u8, sense: Sense) -> i32 {
    match (status, sense) {
        (CHECK_CONDITION, (2, ..)) => libc::ENODEV,
        (CHECK_CONDITION, (5, ..)) => libc::EINVAL,
        // Something happened to the unit: the same command may well succeed now.
        (CHECK_CONDITION, (UNIT_ATTENTION, ..)) => libc::EAGAIN,
        (CHECK_CONDITION, (7, 0x27, 0x07)) => libc::ENOSPC,
        (CHECK_CONDITION, (7, ..)) => libc::EROFS,
        (BUSY | TASK_SET_FULL | RESERVATION_CONFLICT, _) => libc::EBUSY,
        _ => libc::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_as_the_standard_has_them() {
        assert_eq!(of_io(Op::Read, 0x0102, 3, true)[..15], [0x88, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 0]);
        assert_eq!(of_io(Op::Write, 1, 1, true)[..2], [0x8A, 8]);
        assert_eq!(of_io(Op::Write, 1, 1, false)[..2], [0x8A, 0]);
        assert_eq!(of_io(Op::Fsync, 9, 9, false), cdb(0x35, &[]));
        assert_eq!(read_capacity(32)[13], 32);
    }

    #[test]
    fn both_formats_of_sense() {
        let mut fixed = [0; 18];
        (fixed[0], fixed[2], fixed[12], fixed[13]) = (0x70, 7, 0x27, 7);
        assert_eq!(errno_of(2, sense(&fixed)), libc::ENOSPC);
        assert_eq!(errno_of(2, sense(&[0x72, 6, 0x29, 0])), libc::EAGAIN);
        assert_eq!(errno_of(2, sense(&[])), libc::EIO);
        assert_eq!(errno_of(0x28, sense(&[])), libc::EBUSY);
    }
}
