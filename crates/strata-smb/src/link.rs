//! One connection of a queue: requests out as credits allow, replies in straight to where they belong.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, RawFd};

use smb2::msg::Header;
use smb2::pack::{ReadCursor, Unpack};
use smb2::types::status::NtStatus;
use strata_io::{Io, Op};
use strata_proto::polling::EmptySteps;
use strata_proto::transport::{Answer, Connection, Out, Slots};
use strata_proto::{Socket, named_as};

use crate::frame::{Ask, Frame, HEADER, Handle, SIGNED};
use crate::guard::{Guard, invalid};
use crate::inbox::{Inbox, Piece};
use crate::status::{ends_the_session, errno_of, refused};
use crate::talk::SetupConnection;

/// Asked in vain so often for credits, a server is not going to give any.
const MAX_BEGGING: u32 = 16;
/// The slot of a request that belongs to nobody's I/O.
const NOBODY: u32 = u32::MAX;

/// Message ids are counted up: they need no mixing to be spread.
#[derive(Default)]
struct Counted(u64);

impl Hasher for Counted {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("message ids are u64")
    }
    fn write_u64(&mut self, id: u64) {
        // The table looks at the high bits too.
        self.0 = id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// A request that waits for its reply.
#[derive(Clone, Copy, Debug)]
struct Pending {
    slot: u32,
    ask: Ask,
    /// Credits it asked for and has not got yet.
    asked: u16,
}

/// A request up to a payload that stays in its slot.
#[derive(Debug)]
enum Head {
    Plain(Frame),
    /// Signed or sealed, payload included.
    Closed(Vec<u8>),
}

impl AsRef<[u8]> for Head {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Plain(frame) => frame.bytes(),
            Self::Closed(bytes) => bytes,
        }
    }
}

/// A connection on which the load goes.
pub(crate) struct Link {
    socket: Socket,
    guard: Guard,
    handle: Handle,
    next_id: u64,
    credits: u32,
    /// Credits that what is outstanding has asked for.
    asked: u32,
    /// Credits with which everything could go at once.
    wanted: u32,
    begged: u32,
    pending: HashMap<u64, Pending, BuildHasherDefault<Counted>>,
    waiting: VecDeque<(u32, Ask)>,
    out: Out<Head>,
    through: bool,
    closes: bool,
    inbox: Inbox,
    room: Vec<u8>,
    empty_steps: EmptySteps,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("credits", &self.credits)
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// Go on with a connection that is set up. `wanted`: credits with which all its requests could go at once;
    /// `through`: each write asks to be written through; `closes`: leaving closes the open file, which channels share.
    ///
    /// # Errors
    /// The socket refuses to be polled.
    pub(crate) fn new(
        talk: SetupConnection,
        handle: Handle,
        wanted: u32,
        through: bool,
        closes: bool,
    ) -> io::Result<Self> {
        let socket = talk.line.into_socket();
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            guard: talk.guard,
            handle,
            next_id: talk.next_id,
            credits: talk.credits,
            asked: 0,
            wanted,
            begged: 0,
            pending: HashMap::default(),
            waiting: VecDeque::new(),
            out: Out::default(),
            through,
            closes,
            inbox: Inbox::new(),
            room: Vec::new(),
            empty_steps: EmptySteps::default(),
        })
    }

    /// Let go what the credits allow.
    fn release(&mut self, slots: &Slots<()>) -> io::Result<()> {
        while let Some(&(slot, ask)) = self.waiting.front() {
            if self.credits < u32::from(ask.charge()) {
                return Ok(());
            }
            let (head, payload) = self.closed(slot, ask, Some(slots))?;
            self.out.put(head, slot, 0, payload);
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Give `ask` an id and its credits, and protect it; with it how much of a plain write's data stays in its slot.
    fn closed(&mut self, slot: u32, ask: Ask, slots: Option<&Slots<()>>) -> io::Result<(Head, u32)> {
        let (id, charge) = (self.next_id, ask.charge());
        self.next_id += u64::from(charge);
        self.credits -= u32::from(charge);
        let missing = self.wanted.saturating_sub(self.credits + self.asked);
        let asked = u16::try_from(missing).unwrap_or(u16::MAX).max(1);
        self.asked += u32::from(asked);
        self.pending.insert(id, Pending { slot, ask, asked });
        let flags = if matches!(self.guard, Guard::Sign(_)) { SIGNED } else { 0 };
        let frame = Frame::new(ask, &self.handle, id, asked, flags);
        let len = ask.payload();
        if self.guard.is_plain() {
            return Ok((Head::Plain(frame), len));
        }
        let mut wire = Vec::with_capacity(frame.bytes().len() + len as usize);
        wire.extend(frame.bytes());
        if let (Some(slots), 1..) = (slots, len) {
            wire.extend(slots.payload(slot, 0, len));
        }
        Ok((Head::Closed(self.guard.close(wire, id)?), 0))
    }

    /// Ask for credits where requests wait for them and no reply will bring any.
    fn beg(&mut self, slots: &Slots<()>) -> io::Result<()> {
        if self.waiting.is_empty() || !self.pending.is_empty() {
            return Ok(());
        }
        if self.credits == 0 || self.begged == MAX_BEGGING {
            let text = format!("the server left {} credits, too few for a request", self.credits);
            return Err(named_as(text, libc::EPROTO));
        }
        self.begged += 1;
        let (echo, _) = self.closed(NOBODY, Ask::Echo, Some(slots))?;
        self.out.put_alone(echo);
        Ok(())
    }

    fn take_all(&mut self, inbox: &mut Inbox, slots: &mut Slots<()>) -> io::Result<()> {
        inbox.look_again();
        loop {
            match inbox.next(self.guard.is_plain())? {
                Piece::More => {
                    let idle = self.pending.is_empty();
                    if inbox.drained() || (idle && inbox.is_empty()) {
                        return Ok(()); // nothing more can be there; spare the call that would say so
                    }
                    if !inbox.fetch(&self.socket, slots)? {
                        return Ok(());
                    }
                }
                Piece::Head(head) => {
                    let place = self.place(head)?;
                    inbox.place(place, slots)?;
                }
                Piece::Placed { slot, len } => {
                    self.empty_steps.over();
                    slots.finish(slot, Answer::Part(len)); // at most the slot's length
                }
                Piece::Message(message) => self.take(message, slots)?,
            }
        }
    }

    /// Where the data behind the head of a plain message goes, when it is that of a read that went well.
    fn place(&mut self, head: &[u8]) -> io::Result<Option<(u32, u32)>> {
        let header = header_of(head)?;
        let known = self.pending.get(&header.message_id.0);
        let Some(&Pending { slot, ask: Ask::Read { len, .. }, .. }) = known else { return Ok(None) };
        let Some((offset, got)) = read_reply(&header, head) else { return Ok(None) };
        if offset != head.len() || got == 0 || header.next_command != 0 {
            return Ok(None);
        }
        if got > len {
            return Err(invalid("a reply with more data than was asked"));
        }
        self.settle(&header);
        Ok(Some((slot, got)))
    }

    /// What a whole message means.
    fn take(&mut self, outer: &[u8], slots: &mut Slots<()>) -> io::Result<()> {
        let mut room = std::mem::take(&mut self.room);
        let mut rest = self.guard.open(outer, &mut room)?;
        loop {
            let header = header_of(rest)?;
            let next = header.next_command as usize;
            let (message, behind) = match next {
                0 => (rest, &[][..]),
                _ => rest
                    .split_at_checked(next)
                    .ok_or_else(|| invalid("a chain of replies that is too long"))?,
            };
            self.answer(&header, message, slots)?;
            if next == 0 {
                break;
            }
            rest = behind;
        }
        self.room = room;
        Ok(())
    }

    fn answer(&mut self, header: &Header, message: &[u8], slots: &mut Slots<()>) -> io::Result<()> {
        let Some(Pending { slot, ask, .. }) = self.settle(header) else { return self.empty_steps.one_more() };
        let status = header.status;
        if ends_the_session(status) {
            return Err(refused("the server ended the session", status));
        }
        if slot == NOBODY {
            return self.empty_steps.one_more();
        }
        self.empty_steps.over();
        let answer = match ask {
            Ask::Read { .. } if status == NtStatus::END_OF_FILE => Answer::Part(0),
            _ if !status.is_success_or_partial() => Answer::Failed(errno_of(status)),
            Ask::Read { len, .. } => {
                let (offset, got) = read_reply(header, message).unwrap_or((0, 0));
                let data = message.get(offset..offset + got as usize).filter(|_| got <= len);
                let data = data.ok_or_else(|| invalid("a reply whose data is not where it says"))?;
                slots.buffer(slot)[..data.len()].copy_from_slice(data);
                Answer::Part(got)
            }
            Ask::Write { len, .. } => {
                let count = four(message, HEADER + 4).filter(|&count| count <= len);
                Answer::Part(count.ok_or_else(|| invalid("a write that wrote more than there was"))?)
            }
            Ask::Flush | Ask::Echo | Ask::Close => Answer::Part(0),
        };
        slots.finish(slot, answer);
        Ok(())
    }

    /// Take in the credits of a reply; the request it ends. An interim reply ("later") brings credits and ends nothing:
    /// who does not count them runs dry.
    fn settle(&mut self, header: &Header) -> Option<Pending> {
        self.credits += u32::from(header.credits);
        if header.credits > 0 {
            self.begged = 0;
        }
        let id = header.message_id.0;
        if header.status.is_pending() {
            if let Some(pending) = self.pending.get_mut(&id) {
                self.asked -= u32::from(std::mem::take(&mut pending.asked));
            }
            return None;
        }
        let pending = self.pending.remove(&id)?;
        self.asked -= u32::from(pending.asked);
        Some(pending)
    }
}

impl Connection for Link {
    type Pending = ();

    /// Without credits it goes behind those that wait for some.
    fn push(&mut self, slot: u32, io: Io, slots: &mut Slots<()>) -> io::Result<()> {
        let (offset, len) = (io.offset(), io.len());
        slots.begin(slot, io.op(), len, 0);
        let ask = match io.op() {
            Op::Read => Ask::Read { offset, len },
            Op::Write => Ask::Write { offset, len, through: self.through },
            // The protocol has one kind of flush.
            Op::Fsync | Op::Fdatasync => Ask::Flush,
        };
        self.waiting.push_back((slot, ask));
        self.release(slots)
    }

    fn poll(&self) -> (RawFd, i16) {
        let writes = if self.out.is_empty() { 0 } else { libc::POLLOUT };
        (self.socket.as_raw_fd(), libc::POLLIN | writes)
    }

    fn send(&mut self, slots: &mut Slots<()>) -> io::Result<()> {
        self.beg(slots)?;
        self.out.send(&self.socket, slots)
    }

    fn receive(&mut self, slots: &mut Slots<()>) -> io::Result<()> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let result = self.take_all(&mut inbox, slots);
        self.inbox = inbox;
        result?;
        self.release(slots)?;
        // At a low depth each reply finds nothing that waits: that must cost nothing.
        if self.waiting.is_empty() && self.out.is_empty() { Ok(()) } else { self.send(slots) }
    }

    /// Close the file in good order, without waiting for the answer.
    fn leave(&mut self) {
        if self.closes
            && self.out.is_empty()
            && self.credits > 0
            && let Ok((close, _)) = self.closed(NOBODY, Ask::Close, None)
        {
            let _gone = self.socket.send_now(&[IoSlice::new(close.as_ref())]);
        }
    }
}

pub(crate) fn header_of(message: &[u8]) -> io::Result<Header> {
    Header::unpack(&mut ReadCursor::new(message)).map_err(|_| invalid("a reply that is not SMB2 or SMB3"))
}

/// Where the data of a good reply to a read begins in its message, and how much it is.
fn read_reply(header: &Header, message: &[u8]) -> Option<(usize, u32)> {
    let offset = usize::from(*message.get(HEADER + 2)?);
    header.status.is_success_or_partial().then_some((offset, four(message, HEADER + 4)?))
}

pub(crate) fn four(message: &[u8], at: usize) -> Option<u32> {
    message.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes)
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
