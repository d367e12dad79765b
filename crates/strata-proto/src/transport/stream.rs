//! A wire fed from bytes, for the tests of what a server may send.

use strata_io::Op;

use super::out::Out;
use super::slots::{Slots, slot_of};
use super::wire::{Ask, Done, Wire};
use crate::transport::Want;

/// Bytes of each request.
pub(crate) const LEN: u32 = 8192;
/// The generation of each request; its number is its slot.
pub(crate) const GENERATION: u32 = 5;

/// What came of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Came {
    /// Results in the order of the answers, with their slots.
    pub(crate) answers: Vec<(u32, i32)>,
    /// Whether the connection is of no use after it.
    pub(crate) broken: bool,
}

/// Two reads, two writes and a flush are in flight on `wire`; then these bytes come, in pieces of at most `piece`.
pub(crate) fn feed<W: Wire>(wire: &mut W, mut rest: &[u8], piece: usize) -> Came {
    let mut slots: Slots<W::Pending> = Slots::new(5, LEN, GENERATION - 1);
    let mut out = Out::default();
    for (slot, op) in [Op::Read, Op::Read, Op::Write, Op::Write, Op::Fsync].into_iter().enumerate() {
        let slot = slot as u32;
        let len = if op == Op::Fsync { 0 } else { LEN };
        let cookie = slots.begin(slot, op, len, 0);
        let ask = Ask { slot, cookie, op, offset: u64::from(slot * LEN), len };
        wire.ask(&ask, slots.pending(slot), &mut out);
        slots.sent(slot);
    }
    let mut came = Came::default();
    while came.answers.len() < 5 {
        let want = wire.want();
        let len = match want {
            Want::Control(len) if rest.len() < len => break,
            Want::Control(len) => len,
            Want::Data { len, .. } | Want::Skip(len) => rest.len().min(len as usize).min(piece),
        };
        if len == 0 {
            // A wire that wants nothing would never go on.
            assert!(!matches!(want, Want::Control(0) | Want::Skip(0)) || rest.is_empty(), "{want:?}");
            break;
        }
        let (head, tail) = rest.split_at(len);
        rest = tail;
        let done = match want {
            Want::Control(_) => wire.control(head, &mut slots.of(0), &mut out),
            Want::Data { cookie, at, len: most } => {
                // Panics where the place is not the request's own.
                slots.part(cookie, at, most)[..len].copy_from_slice(head);
                wire.data(len as u32, &mut slots.of(0))
            }
            Want::Skip(_) => wire.skipped(len as u32, &mut slots.of(0)),
        };
        match done {
            Ok(Done::Answered { cookie, answer }) => slots.finish(slot_of(cookie), answer),
            Ok(_) => {}
            Err(_) => {
                came.broken = true;
                break;
            }
        }
        wire.proceed(&mut out);
        came.answers.extend(slots.ready.drain(..).map(|completion| (completion.slot, completion.result)));
    }
    for (slot, result) in &came.answers {
        assert!(*result <= LEN as i32, "slot {slot} moved {result} bytes");
    }
    came
}
