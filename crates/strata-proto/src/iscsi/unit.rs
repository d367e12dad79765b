//! What a logical unit is, and plain reads of it.

use std::io;
use std::time::Duration;

use strata_io::Op;

use super::scsi;
use super::session::Session;
use super::uri::Uri;
use crate::error::ProtoError;
use crate::fields::Fields;
use crate::line::Probe;

/// Bytes asked for at once.
const PIECE: u64 = 64 * 1024;
/// A direct-access block device.
const DISK: u8 = 0;

/// A logical unit.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Where it is.
    pub uri: Uri,
    /// Its size, in bytes.
    pub size_bytes: u64,
    /// Its logical block, in bytes: the least that can be read or written.
    pub block_bytes: u32,
    /// Vendor and product, as it names itself.
    pub product: String,
    /// It takes no writes.
    pub read_only: bool,
    /// A write can be asked to be durable when it is answered.
    pub fua: bool,
}

impl Unit {
    /// Log in, look at the unit and leave. Waits `patience` and at most 10 s for each answer.
    ///
    /// # Errors
    /// The target cannot be reached or refuses, or the unit is no disk; named with the address.
    pub fn open(uri: &Uri, patience: Duration) -> io::Result<Self> {
        Self::seen(&mut Session::open(uri, patience)?, uri)
    }

    pub(super) fn seen(session: &mut Session, uri: &Uri) -> io::Result<Self> {
        let inquiry = session.command("asking what it is (INQUIRY)", scsi::inquiry(96), 96)?;
        let kind = inquiry.first().copied().unwrap_or(0xFF);
        if kind & 0x1F != DISK || kind >> 5 != 0 {
            let text = format!("it is not a disk (peripheral {kind:#04x})");
            return Err(uri.error(text, libc::ENOTBLK));
        }
        let product = inquiry.get(8..32).map(|text| String::from_utf8_lossy(text).into_owned());
        let capacity =
            session.command("asking for its size (READ CAPACITY(16))", scsi::read_capacity(32), 32)?;
        let mut fields = Fields::new("READ CAPACITY", &capacity);
        let (last, block_bytes) = (fields.u64()?, fields.u32()?);
        if !block_bytes.is_power_of_two() || !(512..=1 << 20).contains(&block_bytes) {
            return Err(ProtoError::BadValue { what: "block length", got: block_bytes.into() }.into());
        }
        let size = last.checked_add(1).and_then(|blocks| blocks.checked_mul(block_bytes.into()));
        let size_bytes = size.ok_or(ProtoError::BadValue { what: "last block", got: last })?;
        // Not every unit knows it: then it neither protects itself nor promises anything.
        let mode = session.command("asking for its mode", scsi::mode_sense(64), 64);
        let specific = mode.ok().and_then(|mode| mode.get(2).copied()).unwrap_or(0);
        let (read_only, fua) = (specific & 0x80 != 0, specific & 0x10 != 0);
        let product = product.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Self { uri: uri.clone(), size_bytes, block_bytes, product, read_only, fua })
    }
}

/// Look at the unit, with `rounds` times TEST UNIT READY. A connection takes from the call of `connect` to the end of the
/// login. Waits `patience` and at most 10 s for each answer.
///
/// # Errors
/// As [`Unit::open`].
pub fn probe(uri: &Uri, rounds: u32, patience: Duration) -> io::Result<Probe<Unit>> {
    Probe::of(
        rounds,
        || Session::open(uri, patience),
        |session| Unit::seen(session, uri),
        |session| session.command("is it ready", scsi::test_unit_ready(), 0).map(drop),
    )
}

/// `length` bytes of the unit from `offset`, by one session and plain reads.
///
/// # Errors
/// The target cannot be reached, the range goes beyond the unit, or a read fails; named with the address.
pub fn read_range(uri: &Uri, offset: u64, length: u64, patience: Duration) -> io::Result<Vec<u8>> {
    let mut session = Session::open(uri, patience)?;
    let unit = Unit::seen(&mut session, uri)?;
    let Some(end) = offset.checked_add(length).filter(|end| *end <= unit.size_bytes) else {
        let text = format!("{length} bytes from {offset} go beyond its {}", unit.size_bytes);
        return Err(uri.error(text, libc::EINVAL));
    };
    // Whole blocks are read, the range is kept.
    let block = u64::from(unit.block_bytes);
    let (first, stop) = (offset - offset % block, end.next_multiple_of(block));
    let (mut at, mut out) = (first, Vec::new());
    while at < stop {
        let len = (stop - at).min(PIECE.max(block));
        let cdb = scsi::of_io(Op::Read, at / block, (len / block) as u32, false);
        let data = session.command(&format!("reading at {at}"), cdb, len as u32)?;
        if data.len() as u64 != len {
            return Err(ProtoError::BadLength { what: "data of a read" }.into());
        }
        out.extend(data);
        at += len;
    }
    out.drain(..(offset - first) as usize);
    out.truncate(length as usize);
    Ok(out)
}
