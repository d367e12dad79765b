//! A file on a share: made, looked into, removed. One thing after the other, nothing of it is measured.

use std::io;
use std::time::{Duration, Instant};

use smb2::msg::close::CloseRequest;
use smb2::msg::flush::FlushRequest;
use smb2::msg::query_info::InfoType;
use smb2::msg::read::{ReadRequest, ReadResponse};
use smb2::msg::set_info::SetInfoRequest;
use smb2::msg::write::{WriteRequest, WriteResponse};
use smb2::types::Command;
use smb2::types::status::NtStatus;
use strata_proto::{errno, named_as};

use crate::dial::{CreateOptions, Dialled, Purpose, dial};
use crate::uri::Uri;

/// Bytes asked for at once; small enough for every server.
const PIECE: u32 = 64 * 1024;
/// Classes of file information.
const DISPOSITION: u8 = 13;
const ALLOCATION: u8 = 19;
const END_OF_FILE: u8 = 20;
/// How long somebody else's last hold on a file is waited for before it is not removed: a server closes the files of a
/// connection that is gone when it notices.
const LETTING_GO: Duration = Duration::from_secs(5);

impl Dialled {
    fn set(&mut self, what: &str, class: u8, buffer: Vec<u8>) -> io::Result<()> {
        let request = SetInfoRequest {
            info_type: InfoType::File,
            file_info_class: class,
            additional_information: 0,
            file_id: self.handle.file,
            buffer,
        };
        self.talk.demand(what, Command::SetInfo, &request, 0).map(drop)
    }

    fn read(&mut self, offset: u64, length: u32) -> io::Result<Vec<u8>> {
        let request = ReadRequest {
            padding: 80,
            flags: 0,
            length,
            offset,
            file_id: self.handle.file,
            minimum_count: 0,
            channel: 0,
            remaining_bytes: 0,
            read_channel_info: Vec::new(),
        };
        let what = format!("reading at {offset}");
        let reply = self.talk.ask(&what, Command::Read, &request, length)?;
        if reply.header.status == NtStatus::END_OF_FILE {
            return Ok(Vec::new());
        }
        if !reply.header.status.is_success_or_partial() {
            return Err(crate::status::refused(
                format_args!("{}: {what}", self.talk.uri),
                reply.header.status,
            ));
        }
        let mut data = reply.body::<ReadResponse>()?.data;
        data.truncate(length as usize);
        Ok(data)
    }

    /// The size of the file, and its first bytes: as many as there are, at most `length`.
    ///
    /// # Errors
    /// As of a read.
    pub(crate) fn beginning(&mut self, length: u32) -> io::Result<(u64, Vec<u8>)> {
        Ok((self.size_bytes, self.read(0, length)?))
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let request = WriteRequest {
            data_offset: 112,
            offset,
            file_id: self.handle.file,
            channel: 0,
            remaining_bytes: 0,
            write_channel_info_offset: 0,
            write_channel_info_length: 0,
            flags: 0,
            data: data.to_vec(),
        };
        let what = format!("writing {} bytes at {offset}", data.len());
        let reply = self.talk.demand(&what, Command::Write, &request, data.len() as u32)?; // callers write little
        if reply.body::<WriteResponse>()?.count as usize != data.len() {
            return Err(named_as(
                format_args!("{}: {what}: only a part was written", self.talk.uri),
                libc::EIO,
            ));
        }
        Ok(())
    }

    fn close(mut self, flush: bool) -> io::Result<()> {
        let file_id = self.handle.file;
        if flush {
            self.talk.demand("flushing", Command::Flush, &FlushRequest { file_id }, 0)?;
        }
        self.talk.demand("closing", Command::Close, &CloseRequest { flags: 0, file_id }, 0).map(drop)
    }

    /// Remove the file when it is closed.
    fn doom(&mut self) -> io::Result<()> {
        self.set("removing", DISPOSITION, vec![1])
    }
}

/// Make the file of `uri` with `size_bytes` bytes that begin with `header`; the room is reserved where the server can.
///
/// # Errors
/// It is there already (`EEXIST`), or the server refuses; then what was made is removed again. Named with the address.
pub fn create(uri: &Uri, size_bytes: u64, header: &[u8], patience: Duration) -> io::Result<()> {
    let mut made = dial(uri, Purpose::Create, CreateOptions::default(), patience)?;
    let mut furnish = || {
        let size = size_bytes.to_le_bytes().to_vec();
        // Size first, then the mark that states it: at no instant do the two disagree.
        made.set("setting its size", END_OF_FILE, size.clone())?;
        made.write(0, header)?;
        match made.set("reserving its room", ALLOCATION, size) {
            Err(error) if matches!(errno(&error), libc::ENOSPC | libc::EDQUOT) => Err(error),
            // Not every server can.
            _ => Ok(()),
        }
    };
    match furnish() {
        Ok(()) => made.close(true),
        Err(error) => {
            let _as_it_is = made.doom().and_then(|()| made.close(false));
            Err(error)
        }
    }
}

/// Remove the file of `uri` if it still begins with `header`; whether it was there.
///
/// It is opened for nobody else, looked into and removed through one handle: no other file can take its place meanwhile.
///
/// # Errors
/// It begins otherwise (`EPERM`), somebody has it open (`EBUSY`), or the server refuses. Named with the address.
pub fn remove(uri: &Uri, header: &[u8], patience: Duration) -> io::Result<bool> {
    let begun = Instant::now();
    let mut found = loop {
        match dial(uri, Purpose::Remove, CreateOptions::default(), patience) {
            Ok(found) => break found,
            Err(error) if errno(&error) == libc::ENOENT && error.to_string().contains("opening") => {
                return Ok(false);
            }
            Err(error) if errno(&error) == libc::EBUSY && begun.elapsed() < LETTING_GO => {
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(error) => return Err(error),
        }
    };
    if found.read(0, header.len() as u32)? != header {
        let text = "it does not start with its mark: it is another file now and was not changed";
        return Err(uri.error(text, libc::EPERM));
    }
    found.doom()?;
    found.close(false)?;
    Ok(true)
}

/// `length` bytes of the file from `offset`, waiting `patience` and at most 10 s for each answer.
///
/// # Errors
/// The server cannot be reached, the range goes beyond the file, or a read fails; named with the address.
pub fn read_range(uri: &Uri, offset: u64, length: u64, patience: Duration) -> io::Result<Vec<u8>> {
    let mut found = dial(uri, Purpose::Read, CreateOptions::default(), patience)?;
    let size = found.size_bytes;
    if offset.checked_add(length).is_none_or(|end| end > size) {
        let text = format!("{uri}: {length} bytes from {offset} go beyond its {size}");
        return Err(named_as(text, libc::EINVAL));
    }
    let mut out = Vec::new();
    while (out.len() as u64) < length {
        let left = (length - out.len() as u64).min(PIECE.into()) as u32;
        let piece = found.read(offset + out.len() as u64, left)?;
        if piece.is_empty() {
            let text = format!("{uri}: it became shorter while it was read");
            return Err(named_as(text, libc::EIO));
        }
        out.extend(piece);
    }
    found.close(false)?;
    Ok(out)
}
