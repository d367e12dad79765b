//! Bytes of one connection, cut into messages; the data of plain reads goes from the socket into its slot.

use std::io::{self, IoSliceMut, Read};

use strata_proto::transport::Slots;
use strata_proto::{Socket, received};

use crate::frame::{HEADER, PREFIX};
use crate::guard::invalid;

/// Bytes read ahead with one system call.
const AHEAD: usize = 64 * 1024;
/// Header and fixed body of a reply to a read: its data begins behind them.
const HEAD: usize = HEADER + 16;

/// What comes next.
pub(crate) enum Piece<'a> {
    /// Nothing whole: fetch more.
    More,
    /// The head of a plain message that is long enough to be a read's; say where its data goes.
    Head(&'a [u8]),
    /// The data of a read is in its slot.
    Placed { slot: u32, len: u32 },
    /// A whole message.
    Message(&'a [u8]),
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// A prefix comes next.
    #[default]
    Between,
    /// The prefix was read; the message is so long, and whether its head was looked at.
    Message { len: usize, looked: bool },
    /// Data goes into the slot; then `skip` bytes of no use.
    Placing { slot: u32, len: usize, have: usize, skip: usize },
    /// A message of `len` bytes, too long for the staging area, is gathered.
    Gathering { have: usize, len: usize },
    /// Gathered, and given away.
    Given,
}

/// The receiving half of a connection.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    ahead: Box<[u8]>,
    from: usize,
    to: usize,
    /// As long as the longest message that was gathered.
    whole: Vec<u8>,
    state: State,
    drained: bool,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { ahead: vec![0; AHEAD].into_boxed_slice(), ..Self::default() }
    }

    /// Whether no byte waits to be looked at and no message has begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.from == self.to && matches!(self.state, State::Between)
    }

    /// Whether the last call emptied the socket.
    pub(crate) fn drained(&self) -> bool {
        self.drained
    }

    /// What comes next in what was fetched. `plain`: heads are asked about.
    ///
    /// # Errors
    /// What comes is not SMB.
    pub(crate) fn next(&mut self, plain: bool) -> io::Result<Piece<'_>> {
        loop {
            let staged = self.to - self.from;
            match self.state {
                State::Between => {
                    if staged < PREFIX {
                        return Ok(Piece::More);
                    }
                    let prefix = &self.ahead[self.from..self.from + PREFIX];
                    let len = u32::from_be_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]) as usize;
                    if prefix[0] != 0 {
                        return Err(invalid("bytes that are not SMB"));
                    }
                    self.from += PREFIX;
                    self.state = State::Message { len, looked: !plain || len < HEAD };
                }
                State::Message { len, looked: false } => {
                    if staged < HEAD {
                        return Ok(Piece::More);
                    }
                    self.state = State::Message { len, looked: true };
                    return Ok(Piece::Head(&self.ahead[self.from..self.from + HEAD]));
                }
                State::Message { len, looked: true } => {
                    if staged >= len {
                        let from = self.from;
                        self.from += len;
                        self.state = State::Between;
                        return Ok(Piece::Message(&self.ahead[from..from + len]));
                    }
                    self.whole.resize(self.whole.len().max(staged), 0);
                    self.whole[..staged].copy_from_slice(&self.ahead[self.from..self.to]);
                    self.from = self.to;
                    self.state = State::Gathering { have: staged, len };
                }
                State::Placing { slot, len, have, skip } => {
                    if have < len {
                        return Ok(Piece::More); // `place` and `fetch` took all that was staged
                    }
                    let skipped = skip.min(staged);
                    self.from += skipped;
                    if skipped < skip {
                        self.state = State::Placing { slot, len, have, skip: skip - skipped };
                        return Ok(Piece::More);
                    }
                    self.state = State::Between;
                    return Ok(Piece::Placed { slot, len: len as u32 }); // it was a u32 before
                }
                State::Gathering { have, len } => {
                    if have < len {
                        return Ok(Piece::More);
                    }
                    self.state = State::Given;
                    return Ok(Piece::Message(&self.whole[..len]));
                }
                State::Given => self.state = State::Between,
            }
        }
    }

    /// The answer to [`Piece::Head`]: the slot and how many bytes of data follow for it; `None`: the whole message is wanted.
    ///
    /// # Errors
    /// The message is shorter than that.
    pub(crate) fn place(&mut self, place: Option<(u32, u32)>, slots: &mut Slots<()>) -> io::Result<()> {
        let (State::Message { len: message, .. }, Some((slot, len))) = (self.state, place) else {
            return Ok(());
        };
        let (len, behind) = (len as usize, message - HEAD);
        let skip = behind.checked_sub(len).ok_or_else(|| invalid("a reply shorter than its data"))?;
        self.from += HEAD;
        let have = len.min(self.to - self.from);
        slots.buffer(slot)[..have].copy_from_slice(&self.ahead[self.from..self.from + have]);
        self.from += have;
        self.state = State::Placing { slot, len, have, skip };
        Ok(())
    }

    /// A new look at the socket: what the last call found holds no more.
    pub(crate) fn look_again(&mut self) {
        self.drained = false;
    }

    /// Fetch more; `false` when there is nothing now.
    ///
    /// # Errors
    /// The server closed the connection, or it is gone.
    pub(crate) fn fetch(&mut self, mut socket: &Socket, slots: &mut Slots<()>) -> io::Result<bool> {
        let staged = self.to - self.from;
        self.ahead.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, staged);
        if let State::Gathering { have, len } = self.state
            && have == self.whole.len()
            && have < len
        {
            // What a prefix says is no reason to make room: that grows with what has come.
            self.whole.resize(len.min(2 * have.max(AHEAD)), 0);
        }
        // Where data that is wanted first goes, if anywhere; what comes behind it is staged, once it is all of it.
        let (place, behind) = match self.state {
            State::Placing { slot, len, have, .. } if have < len => {
                (&mut slots.buffer(slot)[have..len], true)
            }
            State::Gathering { have, len } => {
                let there = self.whole.len().min(len);
                (&mut self.whole[have..there], there == len)
            }
            _ => (&mut [][..], true),
        };
        let free = if behind { &mut self.ahead[staged..] } else { &mut [][..] };
        let room = free.len();
        let first = place.len();
        let got = received(socket.read_vectored(&mut [IoSliceMut::new(place), IoSliceMut::new(free)]))?;
        if let State::Placing { have, .. } | State::Gathering { have, .. } = &mut self.state {
            *have += first.min(got.unwrap_or(0));
        }
        let Some(got) = got else {
            self.drained = true;
            return Ok(false);
        };
        self.drained = got < first + room;
        self.to += got.saturating_sub(first);
        Ok(true)
    }
}
