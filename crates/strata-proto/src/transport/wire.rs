//! What a protocol is to a connection.

use std::fmt::Debug;
use std::io;

use strata_io::{Io, Op};

use super::out::Out;
use super::slots::OfLink;

/// What a wire wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// This many bytes, as control bytes.
    Control(usize),
    /// Up to `len` bytes of the request `cookie`, to be put `at` bytes into its buffer.
    Data {
        /// The request.
        cookie: u64,
        /// Place in the request's buffer, in bytes.
        at: u32,
        /// Bytes left of this run.
        len: u32,
    },
    /// This many bytes that interest nobody.
    Skip(u32),
}

/// One I/O to be asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub slot: u32,
    /// Names this use of the slot; the reply must bring it back, or as much of it as the protocol has room for.
    pub cookie: u64,
    pub op: Op,
    pub offset: u64,
    pub len: u32,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All its bytes were moved.
    Whole,
    /// So many were.
    Part(u32),
    /// With this errno.
    Failed(i32),
}

/// What a step of a wire led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Nothing to do.
    No,
    /// `len` bytes of the request's buffer from `at` are to be zeroes; [`Wire::zeroed`] is told.
    Zero { cookie: u64, at: u32, len: u32 },
    /// The request is answered.
    Answered { cookie: u64, answer: Answer },
}

/// A protocol on one connection: bytes out for an I/O, and what the bytes that come in mean.
///
/// An error of any of its methods means that the connection is of no use any more.
pub trait Wire: Debug {
    /// A connection carries one request at a time, so the next one goes to that which holds the fewest.
    const ONE_AT_A_TIME: bool = false;
    /// What must be known of a request in flight.
    type Pending: Copy + Default + Debug;
    /// What goes before the payload of a request.
    type Head: AsRef<[u8]> + Debug;

    /// What goes out for an I/O; it may be kept back and sent by a later step.
    fn ask(&mut self, ask: &Ask, pending: &mut Self::Pending, out: &mut Out<Self::Head>);

    /// The errno of an I/O that is not to be asked for.
    fn refuses(&self, _io: Io) -> Option<i32> {
        None
    }

    /// What was kept back and can go out now.
    #[inline]
    fn proceed(&mut self, _out: &mut Out<Self::Head>) {}

    /// Requests that it has and that are not answered, where it carries one at a time.
    fn held(&self) -> usize {
        0
    }

    /// What to fetch next.
    fn want(&self) -> Want;

    /// Eat the control bytes that were wanted.
    fn control(
        &mut self,
        bytes: &[u8],
        slots: &mut OfLink<'_, Self::Pending>,
        out: &mut Out<Self::Head>,
    ) -> io::Result<Done>;

    /// `len` wanted bytes of data are in their place.
    fn data(&mut self, len: u32, slots: &mut OfLink<'_, Self::Pending>) -> io::Result<Done>;

    /// `len` bytes were thrown away as wanted.
    fn skipped(&mut self, len: u32, slots: &mut OfLink<'_, Self::Pending>) -> io::Result<Done>;

    /// The zeroes of [`Done::Zero`] are in their place.
    fn zeroed(&mut self, _slots: &mut OfLink<'_, Self::Pending>) -> io::Result<Done> {
        Ok(Done::No)
    }

    /// The last words on a connection that is in order.
    fn disconnect(&mut self) -> Option<Self::Head> {
        None
    }
}
