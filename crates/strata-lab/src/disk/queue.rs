//! Answers that are not due yet, and the thread that gives them when they are.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use strata_proto::lock::lock;

/// How late answers were given.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Lateness {
    /// Answers that waited for their time.
    pub n: u64,
    /// Sum of their lateness.
    pub ns: u64,
    /// The most.
    pub max_ns: u64,
}

struct State<T> {
    /// By due time, then in the order in which they came.
    waiting: BTreeMap<(Instant, u64), T>,
    number: u64,
    late: Lateness,
    ended: bool,
}

impl<T> State<T> {
    fn next_due(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|(&(due, _), _)| due)
    }
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

/// Gives each answer at its time, in a thread that sleeps until then.
pub struct Queue<T> {
    shared: Arc<Shared<T>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Queue<T> {
    /// Start the thread; `give` is called there.
    pub fn start(give: impl FnMut(T) + Send + 'static) -> std::io::Result<Self> {
        let state = State { waiting: BTreeMap::new(), number: 0, late: Lateness::default(), ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("lab-answers".to_owned()).spawn(move || {
            // The kernel may round a sleep up by 50 µs to save power; here the time of waking is what is made.
            // Refused nowhere that is known; the lateness that is counted would show it.
            let _kept = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
            answer(&its, give);
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Give `answer` at `due`.
    pub fn at(&self, due: Instant, answer: T) {
        let mut state = lock(&self.shared.state);
        let next = state.next_due();
        let number = state.number;
        state.number += 1;
        state.waiting.insert((due, number), answer);
        drop(state);
        if next.is_none_or(|next| due < next) {
            self.shared.changed.notify_one();
        }
    }

    pub fn late(&self) -> Lateness {
        lock(&self.shared.state).late
    }

    pub fn reset(&self) {
        lock(&self.shared.state).late = Lateness::default();
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        lock(&self.shared.state).ended = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

fn answer<T>(shared: &Shared<T>, mut give: impl FnMut(T)) {
    let mut due = Vec::new();
    let mut state = lock(&shared.state);
    while !state.ended {
        let now = Instant::now();
        while let Some(next) = state.waiting.first_entry().filter(|next| next.key().0 <= now) {
            let ((at, _), answer) = next.remove_entry();
            let late = (now - at).as_nanos() as u64;
            state.late.n += 1;
            state.late.ns += late;
            state.late.max_ns = state.late.max_ns.max(late);
            due.push(answer);
        }
        if !due.is_empty() {
            drop(state);
            due.drain(..).for_each(&mut give);
            state = lock(&shared.state);
            continue;
        }
        let until = state.next_due().map_or(Duration::from_secs(3600), |due| due - now);
        state = shared.changed.wait_timeout(state, until).unwrap_or_else(PoisonError::into_inner).0;
    }
}
