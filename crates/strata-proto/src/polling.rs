//! The wait of a queue over several connections, the same whatever is spoken on them.

use std::io;
use std::time::{Duration, Instant};

use crate::error::ProtoError;

/// Connections that send_and_wait the requests of one queue.
pub trait PolledConnections {
    /// Write what waits, as far as the sockets take it.
    ///
    /// # Errors
    /// A connection is of no use any more.
    fn send(&mut self) -> io::Result<()>;

    /// Requests that came back and were not reaped.
    fn ready(&self) -> usize;

    /// Requests that wait for their reply.
    fn in_flight(&self) -> usize;

    /// The descriptors and what to wait for on them, anew.
    fn polls(&mut self) -> &mut [libc::pollfd];

    /// Do what the last poll said is possible. Never waits.
    ///
    /// # Errors
    /// A connection is of no use any more.
    fn turn(&mut self) -> io::Result<()>;
}

/// Send, then wait until `wait` requests came back, at most `timeout`: as [`strata_io::Queue::submit`] says.
///
/// What comes and answers nothing does not make the wait longer: each turn that leaves something to wait for reads the
/// clock, as it must to know how long.
///
/// # Errors
/// A connection is of no use any more.
pub fn send_and_wait(
    turns: &mut impl PolledConnections,
    wait: u32,
    timeout: Option<Duration>,
) -> io::Result<()> {
    turns.send()?;
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut looked = false;
    loop {
        let enough = turns.ready() >= wait as usize;
        // Without a deadline, and with nothing in flight, nothing would ever end the wait.
        let idle = turns.in_flight() == 0;
        if (enough && (looked || idle)) || (idle && deadline.is_none()) {
            return Ok(());
        }
        let left = match deadline {
            _ if enough => Some(Duration::ZERO),
            Some(deadline) => Some(deadline.saturating_duration_since(Instant::now())),
            None => None,
        };
        if looked && left == Some(Duration::ZERO) {
            return Ok(());
        }
        if !poll(turns.polls(), left)? {
            return Ok(());
        }
        turns.turn()?;
        looked = true;
    }
}

/// Wait until something happens on a connection; `false` when the time is over or a signal came.
fn poll(polls: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<bool> {
    let wait = timeout.map(|wait| libc::timespec {
        tv_sec: libc::time_t::try_from(wait.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(wait.subsec_nanos()),
    });
    let wait = wait.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `polls` and the timespec behind `wait` live through the call; no signal mask.
    let events = unsafe { libc::ppoll(polls.as_mut_ptr(), polls.len() as _, wait, std::ptr::null()) };
    if events >= 0 {
        return Ok(events > 0);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) }
}

/// Steps on one connection since the last one that brought something. A server has reasons for a keep-alive, an empty
/// fragment or a "later", and none for nothing else.
#[derive(Debug, Default)]
pub struct EmptySteps(u32);

impl EmptySteps {
    /// Steps in a row that may bring nothing; no reply takes a tenth of it before its data.
    const MOST: u32 = 1 << 16;

    /// A step brought something.
    #[inline]
    pub fn over(&mut self) {
        self.0 = 0;
    }

    /// A step brought nothing.
    ///
    /// # Errors
    /// One too many in a row.
    #[inline]
    pub fn one_more(&mut self) -> io::Result<()> {
        self.0 += 1;
        if self.0 < Self::MOST {
            return Ok(());
        }
        Err(ProtoError::Endless { what: "messages that carry nothing" }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    /// A connection that always has something to read, of which nothing comes.
    struct Chatter {
        ours: UnixStream,
        polls: Vec<libc::pollfd>,
        turns: u64,
    }

    impl PolledConnections for Chatter {
        fn send(&mut self) -> io::Result<()> {
            Ok(())
        }
        fn ready(&self) -> usize {
            0
        }
        fn in_flight(&self) -> usize {
            1
        }
        fn polls(&mut self) -> &mut [libc::pollfd] {
            self.polls = vec![libc::pollfd { fd: self.ours.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
            &mut self.polls
        }
        fn turn(&mut self) -> io::Result<()> {
            self.turns += 1;
            Ok(())
        }
    }

    #[test]
    fn a_server_that_always_has_something_to_say_does_not_hold_the_wait() {
        let (ours, theirs) = UnixStream::pair().expect("two ends");
        io::Write::write_all(&mut &theirs, b"x").expect("room");
        let mut chatter = Chatter { ours, polls: vec![], turns: 0 };
        let begun = Instant::now();
        send_and_wait(&mut chatter, 1, Some(Duration::from_millis(20))).expect("no error");
        assert!(begun.elapsed() >= Duration::from_millis(20), "the whole wait");
        assert!(chatter.turns > 1, "it listened meanwhile");
        // With no time at all what is there is still looked at.
        chatter.turns = 0;
        send_and_wait(&mut chatter, 1, Some(Duration::ZERO)).expect("no error");
        assert_eq!(chatter.turns, 1);
    }

    #[test]
    fn only_what_brings_nothing_again_and_again_is_endless() {
        let mut empty_steps = EmptySteps::default();
        for _ in 0..3 {
            (1..EmptySteps::MOST).for_each(|_| empty_steps.one_more().expect("not yet"));
            empty_steps.over();
        }
        let last = (0..EmptySteps::MOST).find_map(|_| empty_steps.one_more().err()).expect("too many");
        assert_eq!(last.kind(), io::ErrorKind::InvalidData);
    }
}
