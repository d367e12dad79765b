//! A queue whose items come out when they are due, oldest due time first.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::clock::{Clock, SPIN_NS};
use crate::lock::lock;

/// Items with due times, for any number of takers.
///
/// Of the idle takers only one (the leader) waits on a timer, the others wait to be woken; so a
/// due item costs one wake-up, not one for each taker.
#[derive(Debug)]
pub(super) struct DelayQueue<T> {
    clock: Clock,
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// By due time, then in the order in which they came.
    waiting: BTreeMap<(u64, u64), T>,
    pushed: u64,
    idle: usize,
    led: bool,
    closed: bool,
}

impl<T> State<T> {
    fn next_due(&self) -> Option<u64> {
        self.waiting.first_key_value().map(|(&(due_ns, _), _)| due_ns)
    }
}

impl<T> DelayQueue<T> {
    pub(super) fn new(clock: Clock) -> Self {
        let state = State { waiting: BTreeMap::new(), pushed: 0, idle: 0, led: false, closed: false };
        Self { clock, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Add an item; a closed queue drops it.
    pub(super) fn push(&self, due_ns: u64, item: T) {
        let mut state = lock(&self.state);
        if state.closed {
            drop(state); // the item's own drop may take other locks
            return;
        }
        let number = state.pushed;
        state.pushed += 1;
        let first = state.next_due().is_none_or(|next_ns| due_ns < next_ns);
        state.waiting.insert((due_ns, number), item);
        if first {
            state.led = false; // the leader waits for a later instant; whoever wakes takes over
        }
        let wake = state.idle > 0 && !state.led;
        drop(state);
        if wake {
            self.changed.notify_one();
        }
    }

    /// The next item and its due time, as soon as that has come; `None` once the queue is closed.
    pub(super) fn pop(&self) -> Option<(u64, T)> {
        let mut state = lock(&self.state);
        let mut leading = false;
        loop {
            if leading {
                state.led = false;
                leading = false;
            }
            if state.closed {
                return None;
            }
            let now_ns = self.clock.now_ns();
            match state.next_due() {
                Some(due_ns) if due_ns <= now_ns => {
                    let entry = state.waiting.pop_first();
                    let wake = !state.waiting.is_empty() && !state.led && state.idle > 0;
                    drop(state);
                    if wake {
                        self.changed.notify_one();
                    }
                    return entry.map(|((due_ns, _), item)| (due_ns, item));
                }
                Some(due_ns) if !state.led => {
                    let left = due_ns - now_ns;
                    state.led = true;
                    leading = true;
                    if left > SPIN_NS {
                        state.idle += 1;
                        let wait = Duration::from_nanos(left - SPIN_NS);
                        let woken = self.changed.wait_timeout(state, wait);
                        state = woken.unwrap_or_else(PoisonError::into_inner).0;
                        state.idle -= 1;
                    } else {
                        drop(state);
                        self.clock.sleep_until(due_ns);
                        state = lock(&self.state);
                    }
                }
                _ => {
                    state.idle += 1;
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.idle -= 1;
                }
            }
        }
    }

    /// The next item if it is due already.
    pub(super) fn pop_due(&self) -> Option<T> {
        let mut state = lock(&self.state);
        let now_ns = self.clock.now_ns();
        if state.next_due()? > now_ns { None } else { state.waiting.pop_first().map(|(_, item)| item) }
    }

    /// Wake every taker with `None` and drop what waits.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        let dropped = std::mem::take(&mut state.waiting);
        drop(state);
        self.changed.notify_all();
        drop(dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn due_order_not_push_order() {
        let clock = Clock::new();
        let queue = DelayQueue::new(clock);
        let now = clock.now_ns();
        queue.push(now + 3_000_000, 'c');
        queue.push(now + 1_000_000, 'a');
        queue.push(now + 2_000_000, 'b');
        for expected in ['a', 'b', 'c'] {
            let (due, item) = queue.pop().expect("open");
            assert_eq!(item, expected);
            assert!(clock.now_ns() >= due, "never early");
        }
    }

    #[test]
    fn a_leader_that_waits_long_does_not_hold_up_an_early_item() {
        let clock = Clock::new();
        let queue = Arc::new(DelayQueue::new(clock));
        queue.push(clock.now_ns() + 3_600_000_000_000, 1);
        let taker = {
            let queue = Arc::clone(&queue);
            std::thread::spawn(move || queue.pop().map(|(_, item)| item))
        };
        while lock(&queue.state).idle == 0 {
            std::thread::yield_now();
        }
        queue.push(0, 2);
        assert_eq!(taker.join().expect("no panic"), Some(2));
    }

    #[test]
    fn every_item_comes_out_once_with_many_takers() {
        let clock = Clock::new();
        let queue = Arc::new(DelayQueue::new(clock));
        let left = Arc::new(std::sync::atomic::AtomicUsize::new(1_000));
        let takers: Vec<_> = (0..4)
            .map(|_| {
                let (queue, left) = (Arc::clone(&queue), Arc::clone(&left));
                std::thread::spawn(move || {
                    let mut sum = 0_u64;
                    while let Some((_, item)) = queue.pop() {
                        sum += item;
                        if left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst) == 1 {
                            queue.close();
                        }
                    }
                    sum
                })
            })
            .collect();
        for item in 0..1_000_u64 {
            queue.push(clock.now_ns() + item % 7 * 100_000, item);
        }
        let sum: u64 = takers.into_iter().map(|t| t.join().expect("no panic")).sum();
        assert_eq!(sum, 999 * 1_000 / 2);
    }
}
