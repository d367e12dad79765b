//! Real-time priority for threads that wait for one instant, and no longer than the first I/O takes.
//!
//! A load that begins together with those of other hosts has to have a CPU at that instant; beside busy processes an
//! ordinary thread waits for one for milliseconds (`benches/fleet/starts.py`).

use std::sync::{Mutex, MutexGuard, PoisonError};

/// After the start: the first I/O is issued by then, and threads that are more than the CPUs wait no longer.
pub const URGENT_NS: u64 = 1_000_000;

/// Of the collector above its loads: one that they could keep from a CPU would not lower them.
const LEAD: libc::c_int = 2;
const LOAD: libc::c_int = 1;

/// The threads of a run that have it.
#[derive(Debug, Default)]
pub struct Urgent(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether the collector has it, and nobody was lowered yet.
    open: bool,
    /// Id and own policy of threads that are alive, the collector first: each takes itself out before it ends.
    raised: Vec<(libc::pid_t, libc::c_int)>,
}

/// The collector's: lowers all when it is gone.
pub struct Leading<'a>(&'a Urgent);

/// Gives the priority back, unless it was already.
pub struct Raised<'a>(&'a Urgent, libc::pid_t);

impl Urgent {
    /// Raise the calling thread, which lowers all: before it opens the gate. Without the right to it, or with a class of
    /// its own, no thread of the run is raised: how far apart loads began is measured in any case.
    #[must_use]
    pub fn lead(&self) -> Leading<'_> {
        let mut state = self.state();
        state.open = state.add(LEAD);
        Leading(self)
    }

    /// Raise the calling thread until `lower_all`.
    #[must_use]
    pub fn raise(&self) -> Raised<'_> {
        let mut state = self.state();
        if state.open {
            state.add(LOAD);
        }
        // SAFETY: takes no pointer.
        Raised(self, unsafe { libc::gettid() })
    }

    /// Every thread is as it was, and stays so. Whoever lowers is the last.
    pub fn lower_all(&self) {
        let mut state = self.state();
        state.open = false;
        for (tid, policy) in state.raised.drain(..).rev() {
            set(tid, policy, 0);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, priority: libc::c_int) -> bool {
        // SAFETY: neither call takes a pointer.
        let (tid, policy) = unsafe { (libc::gettid(), libc::sched_getscheduler(0)) };
        let ordinary = [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE].contains(&policy);
        // Threads that the kernel makes for this one, such as a ring's workers, are not to have it.
        let raised = ordinary && set(tid, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority);
        if raised {
            self.raised.push((tid, policy));
        }
        raised
    }
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.0.lower_all();
    }
}

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if let Some(at) = state.raised.iter().position(|&(tid, _)| tid == self.1) {
            let (tid, policy) = state.raised.swap_remove(at);
            set(tid, policy, 0);
        }
    }
}

fn set(tid: libc::pid_t, policy: libc::c_int, priority: libc::c_int) -> bool {
    // SAFETY: sched_param is plain data, for which all zeros is a valid value.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = priority;
    // SAFETY: reads one sched_param from a valid address.
    unsafe { libc::sched_setscheduler(tid, policy, &raw const param) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> libc::c_int {
        // SAFETY: takes no pointer.
        unsafe { libc::sched_getscheduler(0) }
    }

    /// What a load has while it waits: in a thread of its own, as it is in a run.
    fn load(urgent: &Urgent) -> libc::c_int {
        std::thread::scope(|scope| {
            let seen = scope.spawn(|| {
                let _raised = urgent.raise();
                policy()
            });
            seen.join().expect("no panic")
        })
    }

    #[test]
    fn loads_have_it_while_the_conductor_has_it_and_never_else() {
        let (urgent, before) = (Urgent::default(), policy());
        assert_eq!(load(&urgent), before);
        let leading = urgent.lead();
        // Without the right to it nothing changes, which is all that can be seen then.
        let raised = policy();
        assert!(raised == before || raised == libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK);
        assert_eq!(load(&urgent), raised);
        urgent.lower_all();
        assert_eq!((policy(), load(&urgent)), (before, before));
        drop(leading);
        let (urgent, before) = (Urgent::default(), policy());
        drop(urgent.lead());
        assert_eq!((policy(), load(&urgent)), (before, before));
    }

    #[test]
    fn a_load_that_is_still_there_is_lowered_from_outside_and_the_conductor_after_it() {
        let urgent = Urgent::default();
        let leading = urgent.lead();
        std::thread::scope(|scope| {
            let (ready, raised) = std::sync::mpsc::channel();
            let (lowered, go) = std::sync::mpsc::channel();
            let urgent = &urgent;
            let load = scope.spawn(move || {
                let before = policy();
                let held = urgent.raise();
                ready.send(policy()).expect("the test waits");
                go.recv().expect("the test says when");
                let after = policy();
                drop(held);
                (before, after)
            });
            assert_eq!(raised.recv().expect("the load says so"), policy());
            drop(leading);
            lowered.send(()).expect("the load waits");
            let (before, after) = load.join().expect("no panic");
            assert_eq!(before, after);
        });
    }

    #[test]
    fn the_class_that_a_thread_had_is_what_it_gets_back() {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: takes no pointer.
                assert!(set(unsafe { libc::gettid() }, libc::SCHED_BATCH, 0));
                drop(Urgent::default().lead());
                assert_eq!(policy(), libc::SCHED_BATCH);
            });
        });
    }
}
