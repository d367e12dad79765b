//! One plain read, for checks of identity.

use std::io;
use std::time::Duration;

use strata_io::{Io, Queue};

use super::queue::{NbdQueue, OpenSpec};
use super::uri::Uri;
use crate::named::named_as;

/// Bytes asked for at once; small enough for every server.
const PIECE: u32 = 64 * 1024;
/// Longest wait for one piece.
const PATIENCE: Duration = Duration::from_secs(30);

/// `length` bytes of the export from `offset`.
///
/// # Errors
/// The server cannot be reached, the range goes beyond the export, a read fails, or no answer
/// comes for 30 s; named with the address.
pub fn read_range(uri: &Uri, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let spec = OpenSpec { depth: 1, block: PIECE, connections: 1, dsync: false };
    let mut queue = NbdQueue::open(uri, spec)?;
    let size = queue.export().size_bytes;
    let end = offset.checked_add(length).filter(|end| *end <= size);
    let Some(end) = end else {
        let text = format!("{uri}: {length} bytes from {offset} go beyond its {size}");
        return Err(named_as(text, libc::EINVAL));
    };
    // Servers may insist on whole blocks: read those that hold the range, keep the range.
    let grain = u64::from(queue.export().blocks.map_or(1, |blocks| blocks.minimum));
    let mut at = offset - offset % grain;
    let stop = end.next_multiple_of(grain).min(size);
    let mut out = Vec::new();
    while at < stop {
        let len = (stop - at).min(PIECE.into()) as u32;
        queue.push(0, Io::read(at, len));
        queue.submit(1, Some(PATIENCE))?;
        let mut result = None;
        queue.reap(|completion| result = Some(completion.result));
        match result {
            Some(result) if result >= 0 => {}
            Some(result) => {
                let error = io::Error::from_raw_os_error(-result);
                return Err(named_as(format_args!("{uri}: reading at {at}: {error}"), -result));
            }
            None => return Err(named_as(format_args!("{uri}: no answer for 30 s"), libc::ETIMEDOUT)),
        }
        let skip = offset.saturating_sub(at).min(len.into()) as usize;
        let keep = (end - at).min(len.into()) as usize;
        out.extend(&queue.buffer(0)[skip..keep]);
        at += u64::from(len);
    }
    Ok(out)
}
