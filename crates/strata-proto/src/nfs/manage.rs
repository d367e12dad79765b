//! Making, looking at and removing a file, one call after the other.

use std::io;
use std::time::Duration;

use super::consts::{ATTRIBUTES, BEFORE, FILE_SYNC, READ, REMOVE, SETATTR, WRITE};
use super::file::NfsFile;
use super::share::Share;
use super::uri::Uri;
use crate::error::ProtoError;
use crate::fields::Fields;
use crate::line::Probe;
use crate::rpc::Xdr;

/// Bytes asked for at once; small enough for every server.
const PIECE: u32 = 32 * 1024;

/// Find the file, with `rounds` calls of NULL (no file, no data). A connection takes from the first call of `connect` to
/// the directory's handle (portmapper, MOUNT, lookups). Waits `patience` and at most 10 s for each answer.
///
/// # Errors
/// As [`NfsFile::open`].
pub fn probe(uri: &Uri, rounds: u32, patience: Duration) -> io::Result<Probe<NfsFile>> {
    Probe::of(rounds, || Share::open(uri, patience), NfsFile::found, Share::null)
}

/// Make a file of `size_bytes` that begins with `head`; nothing of it is reserved. On the medium when this returns.
///
/// # Errors
/// Something is there already (`EEXIST`), or the server refuses; a file that could not be finished is removed again.
pub fn create(uri: &Uri, size_bytes: u64, head: &[u8], patience: Duration) -> io::Result<NfsFile> {
    let mut share = Share::open(uri, patience)?;
    let handle = share.create()?;
    let mut finish = || {
        // Neither mode, owner nor group; the size; no times, no guard.
        let size = Xdr::default().opaque(&handle).u32(0).u32(0).u32(0).u32(1).u64(size_bytes);
        share.call("setting its size", SETATTR, &size.u32(0).u32(0).u32(0).0)?;
        put(&mut share, &handle, 0, head)?;
        NfsFile::found(&mut share)
    };
    finish().inspect_err(|_| {
        let _gone = unlink(&mut share);
    })
}

/// Remove the file.
///
/// # Errors
/// The server cannot be reached or refuses.
pub fn remove(uri: &Uri, patience: Duration) -> io::Result<()> {
    unlink(&mut Share::open(uri, patience)?)
}

/// `length` bytes of the file from `offset`.
///
/// # Errors
/// The server cannot be reached or refuses, or the file ends before.
pub fn read_range(uri: &Uri, offset: u64, length: u64, patience: Duration) -> io::Result<Vec<u8>> {
    let mut share = Share::open(uri, patience)?;
    let handle = share.file()?;
    let mut out = Vec::new();
    while (out.len() as u64) < length {
        let at = offset + out.len() as u64;
        let count = (length - out.len() as u64).min(PIECE.into()) as u32;
        let ask = Xdr::default().opaque(&handle).u64(at).u32(count);
        let found = share.call(&format!("reading at {at}"), READ, &ask.0)?;
        let data = share.told(|| {
            let mut fields = Fields::new("READ reply", &found);
            fields.pass_optional(ATTRIBUTES)?;
            fields.take(8)?; // count, end of file
            fields.opaque("READ data", count)
        })?;
        if data.is_empty() {
            let text = format!("it ends at byte {at}, before byte {}", offset + length);
            return Err(uri.error(text, libc::EINVAL));
        }
        out.extend(data);
    }
    Ok(out)
}

/// Write `bytes` at `offset`; on the medium when this returns.
///
/// # Errors
/// The server cannot be reached or refuses.
pub fn write_range(uri: &Uri, offset: u64, bytes: &[u8], patience: Duration) -> io::Result<()> {
    let mut share = Share::open(uri, patience)?;
    let handle = share.file()?;
    put(&mut share, &handle, offset, bytes)
}

fn put(share: &mut Share, handle: &[u8], offset: u64, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let piece = &bytes[done..bytes.len().min(done + PIECE as usize)];
        let at = offset + done as u64;
        let ask = Xdr::default().opaque(handle).u64(at).u32(piece.len() as u32).u32(FILE_SYNC).opaque(piece);
        let found = share.call(&format!("writing at {at}"), WRITE, &ask.0)?;
        done += share.told(|| {
            let mut fields = Fields::new("WRITE reply", &found);
            fields.pass_optional(BEFORE)?;
            fields.pass_optional(ATTRIBUTES)?;
            match fields.u32()? as usize {
                written if (1..=piece.len()).contains(&written) => Ok(written),
                written => Err(ProtoError::BadValue { what: "bytes written", got: written as u64 }),
            }
        })?;
    }
    Ok(())
}

fn unlink(share: &mut Share) -> io::Result<()> {
    let ask = Xdr::default().opaque(&share.folder).opaque(share.name.as_bytes());
    share.call("removing it", REMOVE, &ask.0).map(|_| ())
}
