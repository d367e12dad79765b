//! How much one connection may have in flight: back-pressure instead of memory.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::lock::lock;

/// Requests of one connection that may be in flight.
const MAX_REQUESTS: usize = 512;
/// Payload bytes of one connection that may be in flight.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What one connection has in flight, from its request's header to the reply's last byte.
#[derive(Debug, Default)]
pub(super) struct Flight {
    state: Mutex<State>,
    landed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: usize,
    bytes: u64,
    over: bool,
}

impl State {
    fn fits(&self, bytes: u64) -> bool {
        self.requests == 0 || (self.requests < MAX_REQUESTS && self.bytes + bytes <= MAX_BYTES)
    }
}

/// The right of one request to be in flight; given back when dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    flight: Arc<Flight>,
    bytes: u64,
}

impl Flight {
    /// Let a request in that holds `bytes` of payload, if it fits now.
    pub(super) fn try_enter(self: &Arc<Self>, bytes: u64) -> Option<Ticket> {
        let mut state = lock(&self.state);
        if state.over || !state.fits(bytes) {
            return None;
        }
        state.requests += 1;
        state.bytes += bytes;
        Some(Ticket { flight: Arc::clone(self), bytes })
    }

    /// Wait until a request that holds `bytes` of payload fits. One that is alone always fits.
    /// `None` once the connection is over.
    pub(super) fn enter(self: &Arc<Self>, bytes: u64) -> Option<Ticket> {
        let mut state = lock(&self.state);
        while !state.over && !state.fits(bytes) {
            state = self.landed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.over {
            return None;
        }
        state.requests += 1;
        state.bytes += bytes;
        Some(Ticket { flight: Arc::clone(self), bytes })
    }

    /// Nobody waits and nobody enters any more.
    pub(super) fn end(&self) {
        lock(&self.state).over = true;
        self.landed.notify_all();
    }

    /// Wait until nothing is in flight, the connection is over, `limit` has passed or `stopped`.
    pub(super) fn drain(&self, limit: Duration, stopped: impl Fn() -> bool) {
        let until = Instant::now() + limit;
        let mut state = lock(&self.state);
        while state.requests > 0 && !state.over && !stopped() && Instant::now() < until {
            let slice = Duration::from_millis(50);
            state = self.landed.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = lock(&self.flight.state);
        state.requests -= 1;
        state.bytes -= self.bytes;
        drop(state);
        self.flight.landed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_bound_holds_but_one_big_request_always_fits() {
        let flight = Arc::new(Flight::default());
        let big = flight.enter(MAX_BYTES * 2).expect("alone");
        let waiter = {
            let flight = Arc::clone(&flight);
            std::thread::spawn(move || flight.enter(1).is_some())
        };
        assert!(!waiter.is_finished());
        drop(big);
        assert!(waiter.join().expect("no panic"));
    }

    #[test]
    fn the_end_wakes_who_waits() {
        let flight = Arc::new(Flight::default());
        let _tickets: Vec<_> = (0..MAX_REQUESTS).map(|_| flight.enter(0)).collect();
        let waiter = {
            let flight = Arc::clone(&flight);
            std::thread::spawn(move || flight.enter(0).is_none())
        };
        flight.end();
        assert!(waiter.join().expect("no panic"));
    }
}
