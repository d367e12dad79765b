//! How much one connection, and all of them together, may have in flight: back-pressure instead of memory.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::lock::lock;

/// Requests of one connection that may be in flight.
const MAX_REQUESTS: usize = 512;
/// Payload bytes of one connection that may be in flight.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Memory of payloads of all connections together, in bytes. It must hold the longest one.
const ALL_BYTES: u64 = 256 * 1024 * 1024;
/// Longest sleep of one who waits for memory without a look at whether its connection is over.
const LOOK: Duration = Duration::from_millis(50);

/// The memory of payloads that all connections of a server share. Who gets none waits, and its client with it.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicU64,
    waiting: AtomicUsize,
    gate: Mutex<()>,
    freed: Condvar,
}

impl Default for Budget {
    fn default() -> Self {
        let (left, waiting) = (AtomicU64::new(ALL_BYTES), AtomicUsize::new(0));
        Self { left, waiting, gate: Mutex::default(), freed: Condvar::new() }
    }
}

impl Budget {
    fn take(&self, bytes: u64) -> bool {
        let order = Ordering::SeqCst;
        self.left.fetch_update(order, order, |left| left.checked_sub(bytes)).is_ok()
    }

    /// Wait for so many bytes; `false` when it is `over` before there are any.
    fn wait(&self, bytes: u64, over: impl Fn() -> bool) -> bool {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut gate = lock(&self.gate);
        let taken = loop {
            if self.take(bytes) {
                break true;
            }
            if over() {
                break false;
            }
            gate = self.freed.wait_timeout(gate, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(gate);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        taken
    }

    fn give_back(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(lock(&self.gate));
            self.freed.notify_all();
        }
    }
}

/// What one connection has in flight, from its request's header to the reply's last byte.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    state: Mutex<State>,
    released: Condvar,
    budget: Arc<Budget>,
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
    flight: Arc<InFlight>,
    bytes: u64,
}

impl InFlight {
    /// Of a connection of the server that has this budget.
    pub(super) fn within(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), ..Self::default() }
    }

    /// Let a request in that holds `bytes` of payload, if it fits now.
    pub(super) fn try_enter(self: &Arc<Self>, bytes: u64) -> Option<Ticket> {
        let mut state = lock(&self.state);
        if state.over || !state.fits(bytes) || !self.budget.take(bytes) {
            return None;
        }
        Some(self.enters(&mut state, bytes))
    }

    /// Wait until a request that holds `bytes` of payload fits. To its connection, one that is alone always fits.
    /// `None` once the connection is over.
    pub(super) fn enter(self: &Arc<Self>, bytes: u64) -> Option<Ticket> {
        let mut state = lock(&self.state);
        while !state.over && !state.fits(bytes) {
            state = self.released.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.over {
            return None;
        }
        // One thread alone enters on a connection, so it still fits when there is memory.
        drop(state);
        if !self.budget.wait(bytes, || lock(&self.state).over) {
            return None;
        }
        Some(self.enters(&mut lock(&self.state), bytes))
    }

    fn enters(self: &Arc<Self>, state: &mut State, bytes: u64) -> Ticket {
        state.requests += 1;
        state.bytes += bytes;
        Ticket { flight: Arc::clone(self), bytes }
    }

    /// Nobody waits and nobody enters any more.
    pub(super) fn end(&self) {
        lock(&self.state).over = true;
        self.released.notify_all();
    }

    /// Wait until nothing is in flight, the connection is over, `limit` has passed or `stopped`.
    pub(super) fn drain(&self, limit: Duration, stopped: impl Fn() -> bool) {
        let until = Instant::now() + limit;
        let mut state = lock(&self.state);
        while state.requests > 0 && !state.over && !stopped() && Instant::now() < until {
            let slice = Duration::from_millis(50);
            state = self.released.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = lock(&self.flight.state);
        state.requests -= 1;
        state.bytes -= self.bytes;
        drop(state);
        self.flight.released.notify_all();
        self.flight.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{JoinHandle, spawn};

    /// Whether it is let in with so many bytes, once that is known.
    fn entering(flight: &Arc<InFlight>, bytes: u64) -> JoinHandle<bool> {
        let flight = Arc::clone(flight);
        spawn(move || flight.enter(bytes).is_some())
    }

    #[test]
    fn the_byte_bound_holds_but_one_big_request_always_fits() {
        let flight = Arc::new(InFlight::default());
        let big = flight.enter(MAX_BYTES + 1).expect("alone");
        let waiter = entering(&flight, 1);
        assert!(!waiter.is_finished());
        drop(big);
        assert!(waiter.join().expect("no panic"));
    }

    #[test]
    fn the_end_wakes_who_waits() {
        let flight = Arc::new(InFlight::default());
        let _tickets: Vec<_> = (0..MAX_REQUESTS).map(|_| flight.enter(0)).collect();
        let waiter = entering(&flight, 0);
        flight.end();
        assert!(!waiter.join().expect("no panic"));
    }

    #[test]
    fn all_connections_together_hold_no_more_than_the_budget() {
        let budget = Arc::new(Budget::default());
        let flights: Vec<_> = (0..64).map(|_| Arc::new(InFlight::within(&budget))).collect();
        let tickets: Vec<_> = flights.iter().filter_map(|flight| flight.try_enter(MAX_BYTES)).collect();
        assert_eq!(tickets.len() as u64, ALL_BYTES / MAX_BYTES);
        let [.., waits, ends] = &flights[..] else { unreachable!("there are 64") };
        assert!(waits.try_enter(1).is_none(), "there is no memory for one that is alone either");
        let (in_time, over) = (entering(waits, MAX_BYTES), entering(ends, MAX_BYTES));
        ends.end();
        assert!(!over.join().expect("no panic"), "its connection is over");
        assert!(!in_time.is_finished());
        drop(tickets);
        assert!(in_time.join().expect("no panic"));
        assert_eq!(budget.left.load(Ordering::SeqCst), ALL_BYTES, "all of it came back");
    }
}
