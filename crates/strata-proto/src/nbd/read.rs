//! One plain read, for checks of identity.

use std::io;
use std::time::{Duration, Instant};

use strata_io::{Io, Queue};

use super::queue::NbdQueue;
use super::uri::Uri;
use crate::named::named_as;
use crate::transport::OpenSpec;

/// Bytes asked for at once; small enough for every server.
const PIECE: u32 = 64 * 1024;

/// `length` bytes of the export from `offset`, waiting `patience` for each piece of 64 KiB (and as
/// [`NbdQueue::open_within`] for the connection).
///
/// # Errors
/// The server cannot be reached, the range goes beyond the export, a read fails, a signal comes, or no answer
/// in time; named with the address.
pub fn read_range(uri: &Uri, offset: u64, length: u64, patience: Duration) -> io::Result<Vec<u8>> {
    let spec = OpenSpec { depth: 1, block: PIECE, connections: 1, dsync: false };
    let mut queue = NbdQueue::open_within(uri, spec, patience)?;
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
        let begun = Instant::now();
        queue.submit(1, Some(patience))?;
        let mut result = None;
        queue.reap(|completion| result = Some(completion.result));
        match result {
            Some(result) if result >= 0 => {}
            Some(result) => {
                let error = io::Error::from_raw_os_error(-result);
                return Err(named_as(format_args!("{uri}: reading at {at}: {error}"), -result));
            }
            None if begun.elapsed() < patience => {
                return Err(named_as(
                    format_args!("{uri}: interrupted while waiting for an answer"),
                    libc::EINTR,
                ));
            }
            None => {
                return Err(named_as(format_args!("{uri}: no answer within {patience:?}"), libc::ETIMEDOUT));
            }
        }
        let skip = offset.saturating_sub(at).min(len.into()) as usize;
        let keep = (end - at).min(len.into()) as usize;
        out.extend(&queue.buffer(0)[skip..keep]);
        at += u64::from(len);
    }
    Ok(out)
}
