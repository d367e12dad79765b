//! The requests of the load, laid out byte by byte: `smb2` packs them into vectors of their own, once for each I/O.

use smb2::types::{Command, FileId};

/// Bytes of an SMB2 header.
pub(crate) const HEADER: usize = 64;
/// Bytes of the length that stands before each message on TCP.
pub(crate) const PREFIX: usize = 4;
/// Longest of the requests below, with prefix and header.
const LONGEST: usize = PREFIX + HEADER + 49;
/// Bytes that one credit pays for.
pub const CREDIT_BYTES: u32 = 64 * 1024;
/// A write that is on the medium when it is answered.
const WRITE_THROUGH: u32 = 1;
/// The message carries a signature.
pub(crate) const SIGNED: u32 = 8;

/// Where requests of one open file go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle {
    pub(crate) session: u64,
    pub(crate) tree: u32,
    pub(crate) file: FileId,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Read { offset: u64, len: u32 },
    Write { offset: u64, len: u32, through: bool },
    Flush,
    Echo,
    Close,
}

impl Ask {
    /// Credits it costs.
    pub(crate) fn charge(self) -> u16 {
        match self {
            Self::Read { len, .. } | Self::Write { len, .. } => charge_of(len),
            Self::Flush | Self::Echo | Self::Close => 1,
        }
    }

    /// Bytes that follow the frame.
    pub(crate) fn payload(self) -> u32 {
        if let Self::Write { len, .. } = self { len } else { 0 }
    }
}

/// Credits that one I/O of `len` bytes costs.
pub(crate) fn charge_of(len: u32) -> u16 {
    u16::try_from(len.div_ceil(CREDIT_BYTES)).unwrap_or(u16::MAX).max(1)
}

/// One request without its payload: prefix, header, body.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Frame {
    /// Lay out `ask` as message `id`, asking for `credits` more.
    pub(crate) fn new(ask: Ask, handle: &Handle, id: u64, credits: u16, flags: u32) -> Self {
        let mut frame = Self { bytes: [0; LONGEST], len: PREFIX };
        let command = match ask {
            Ask::Read { .. } => Command::Read,
            Ask::Write { .. } => Command::Write,
            Ask::Flush => Command::Flush,
            Ask::Echo => Command::Echo,
            Ask::Close => Command::Close,
        };
        frame.put(b"\xfeSMB");
        frame.put(&(HEADER as u16).to_le_bytes());
        frame.put(&ask.charge().to_le_bytes());
        frame.put(&[0; 4]);
        frame.put(&u16::from(command).to_le_bytes());
        frame.put(&credits.to_le_bytes());
        frame.put(&flags.to_le_bytes());
        frame.put(&[0; 4]);
        frame.put(&id.to_le_bytes());
        frame.put(&[0; 4]);
        frame.put(&handle.tree.to_le_bytes());
        frame.put(&handle.session.to_le_bytes());
        frame.put(&[0; 16]);
        match ask {
            Ask::Read { offset, len } => {
                frame.put(&49_u16.to_le_bytes());
                frame.put(&[(HEADER + 16) as u8, 0]);
                frame.put(&len.to_le_bytes());
                frame.put(&offset.to_le_bytes());
                frame.put_file(handle);
                frame.put(&[0; 17]);
            }
            Ask::Write { offset, len, through } => {
                frame.put(&49_u16.to_le_bytes());
                frame.put(&((HEADER + 48) as u16).to_le_bytes());
                frame.put(&len.to_le_bytes());
                frame.put(&offset.to_le_bytes());
                frame.put_file(handle);
                frame.put(&[0; 12]);
                frame.put(&(if through { WRITE_THROUGH } else { 0 }).to_le_bytes());
            }
            // The two bodies are laid out alike.
            Ask::Flush | Ask::Close => {
                frame.put(&24_u16.to_le_bytes());
                frame.put(&[0; 6]);
                frame.put_file(handle);
            }
            Ask::Echo => frame.put(&[4, 0, 0, 0]),
        }
        let message = frame.len - PREFIX + ask.payload() as usize;
        frame.bytes[..PREFIX].copy_from_slice(&prefix(message));
        frame
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn put_file(&mut self, handle: &Handle) {
        self.put(&handle.file.persistent.to_le_bytes());
        self.put(&handle.file.volatile.to_le_bytes());
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// The length of a message as it stands before it; messages are shorter than 16 MiB.
pub(crate) fn prefix(message: usize) -> [u8; PREFIX] {
    (message as u32).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use smb2::msg::flush::FlushRequest;
    use smb2::msg::read::ReadRequest;
    use smb2::msg::write::WriteRequest;
    use smb2::msg::{Header, echo::EchoRequest};
    use smb2::pack::{Pack, ReadCursor, Unpack};
    use smb2::types::flags::HeaderFlags;

    use super::*;

    const HANDLE: Handle =
        Handle { session: 0x0102_0304_0506_0708, tree: 9, file: FileId { persistent: 77, volatile: 88 } };

    fn opened(ask: Ask, payload: &[u8]) -> (Header, Vec<u8>) {
        let frame = Frame::new(ask, &HANDLE, 4711, 33, SIGNED);
        let mut bytes = frame.bytes().to_vec();
        bytes.extend(payload);
        assert_eq!(bytes[..PREFIX], prefix(bytes.len() - PREFIX));
        let mut cursor = ReadCursor::new(&bytes[PREFIX..]);
        let header = Header::unpack(&mut cursor).expect("a header");
        (header, bytes[PREFIX + HEADER..].to_vec())
    }

    fn packed(message: &impl Pack) -> Vec<u8> {
        let mut cursor = smb2::pack::WriteCursor::new();
        message.pack(&mut cursor);
        cursor.into_inner()
    }

    #[test]
    fn the_header_says_what_another_implementation_reads() {
        let (header, _) = opened(Ask::Read { offset: 0, len: 65_537 }, &[]);
        let mut expected = Header::new_request(Command::Read);
        expected.credit_charge.0 = 2;
        expected.credits = 33;
        expected.flags = HeaderFlags::new(SIGNED);
        expected.message_id.0 = 4711;
        expected.session_id.0 = HANDLE.session;
        expected.tree_id = Some(smb2::types::TreeId(9));
        assert_eq!(header, expected);
    }

    #[test]
    fn bodies_are_those_of_another_implementation() {
        let (_, body) = opened(Ask::Read { offset: 5 << 40, len: 8192 }, &[]);
        let read = ReadRequest {
            padding: 80,
            flags: 0,
            length: 8192,
            offset: 5 << 40,
            file_id: HANDLE.file,
            minimum_count: 0,
            channel: 0,
            remaining_bytes: 0,
            read_channel_info: vec![],
        };
        assert_eq!(body, packed(&read));
        let (header, body) = opened(Ask::Write { offset: 4096, len: 3, through: true }, b"abc");
        let write = WriteRequest {
            data_offset: 112,
            offset: 4096,
            file_id: HANDLE.file,
            channel: 0,
            remaining_bytes: 0,
            write_channel_info_offset: 0,
            write_channel_info_length: 0,
            flags: 1,
            data: b"abc".to_vec(),
        };
        assert_eq!((header.command, body), (Command::Write, packed(&write)));
        let (_, body) = opened(Ask::Flush, &[]);
        assert_eq!(body, packed(&FlushRequest { file_id: HANDLE.file }));
        let (header, body) = opened(Ask::Echo, &[]);
        assert_eq!((header.command, body), (Command::Echo, packed(&EchoRequest)));
    }

    #[test]
    fn one_credit_pays_for_64_kib() {
        assert_eq!([0, 1, 65_536, 65_537, 8 << 20].map(charge_of), [1, 1, 1, 2, 128]);
    }
}
