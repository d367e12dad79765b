//! What is not wholly on the wire yet.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use super::slots::Slots;
use crate::sock::Socket;

/// Pieces written with one system call.
const BATCH: usize = 256;
/// What fills a message up to a multiple of four bytes.
const PAD: [u8; 3] = [0; 3];

/// A head, and after it bytes of a slot's buffer.
#[derive(Debug)]
struct Piece<H> {
    head: H,
    /// Where the payload lies; without one the piece belongs to no request.
    slot: Option<u32>,
    from: u32,
    payload: u32,
    pad: u8,
    done: usize,
}

impl<H: AsRef<[u8]>> Piece<H> {
    fn len(&self) -> usize {
        self.head.as_ref().len() + self.payload as usize + usize::from(self.pad)
    }
}

/// Pieces in the order in which they go out.
#[derive(Debug)]
pub struct Out<H> {
    pieces: VecDeque<Piece<H>>,
}

impl<H> Default for Out<H> {
    fn default() -> Self {
        Self { pieces: VecDeque::new() }
    }
}

impl<H: AsRef<[u8]>> Out<H> {
    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// A head and `payload` bytes of the slot's buffer `from` there, which stay where they are until they are sent.
    pub fn put(&mut self, head: H, slot: u32, from: u32, payload: u32) {
        self.pieces.push_back(Piece { head, slot: Some(slot), from, payload, pad: 0, done: 0 });
    }

    /// The same, filled up with zeroes to a multiple of four bytes.
    pub fn put_padded(&mut self, head: H, slot: u32, from: u32, payload: u32) {
        let pad = (payload.wrapping_neg() & 3) as u8; // 0 to 3
        self.pieces.push_back(Piece { head, slot: Some(slot), from, payload, pad, done: 0 });
    }

    /// A head that belongs to no request.
    pub fn put_alone(&mut self, head: H) {
        self.pieces.push_back(Piece { head, slot: None, from: 0, payload: 0, pad: 0, done: 0 });
    }

    /// Write what waits, as far as the socket takes it.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn send<P: Copy + Default>(&mut self, socket: &Socket, slots: &mut Slots<P>) -> io::Result<()> {
        while !self.pieces.is_empty() {
            let mut parts = Vec::with_capacity(2 * self.pieces.len().min(BATCH));
            for piece in self.pieces.iter().take(BATCH) {
                let head = piece.head.as_ref();
                if piece.done < head.len() {
                    parts.push(IoSlice::new(&head[piece.done..]));
                }
                let past = piece.done.saturating_sub(head.len());
                if let Some(slot) = piece.slot
                    && past < piece.payload as usize
                {
                    let whole = slots.payload(slot, piece.from, piece.payload);
                    parts.push(IoSlice::new(&whole[past..]));
                }
                if piece.pad > 0 {
                    let padded = past.saturating_sub(piece.payload as usize);
                    parts.push(IoSlice::new(&PAD[padded..usize::from(piece.pad)]));
                }
            }
            let mut sent = match socket.send_now(&parts) {
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            while let Some(front) = self.pieces.front_mut() {
                let left = front.len() - front.done;
                if sent < left {
                    front.done += sent;
                    break;
                }
                sent -= left;
                if let Some(slot) = front.slot {
                    slots.sent(slot);
                }
                self.pieces.pop_front();
            }
        }
        Ok(())
    }
}
