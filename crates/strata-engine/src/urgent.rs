//! Real-time priority for threads that wait for one instant, and no longer than the first I/O takes.
//!
//! A load that begins together with those of other hosts has to have a CPU at that instant; beside busy processes an
//! ordinary thread waits for one for milliseconds (`benches/fleet/realtime.py`).

use std::sync::{Mutex, MutexGuard, PoisonError};

/// After the start: the first I/O is issued by then, and threads that are more than the CPUs wait no longer.
pub const URGENT_NS: u64 = 1_000_000;

/// The threads of a run that have it.
#[derive(Debug, Default)]
pub struct Urgent(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    over: bool,
    /// Id and own policy of threads that are alive: each takes itself out before it ends.
    raised: Vec<(libc::pid_t, libc::c_int)>,
}

/// Gives the priority back, unless it was already.
pub struct Raised<'a>(&'a Urgent, libc::pid_t);

impl Urgent {
    /// Raise the calling thread until `lower_all`. Without the right to it, or with a class of its own, it stays as it is:
    /// how far apart loads began is measured in any case.
    #[must_use]
    pub fn raise(&self, priority: libc::c_int) -> Raised<'_> {
        // SAFETY: neither call takes a pointer.
        let (tid, policy) = unsafe { (libc::gettid(), libc::sched_getscheduler(0)) };
        let mut state = self.state();
        let ordinary = [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE].contains(&policy);
        // Threads that the kernel makes for this one, such as a ring's workers, are not to have it.
        if !state.over && ordinary && set(tid, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority) {
            state.raised.push((tid, policy));
        }
        Raised(self, tid)
    }

    /// Every thread is as it was, and stays so.
    pub fn lower_all(&self) {
        let mut state = self.state();
        state.over = true;
        for (tid, policy) in state.raised.drain(..) {
            set(tid, policy, 0);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn a_thread_has_it_until_all_are_lowered_or_it_ends_and_nobody_gets_it_late() {
        let (urgent, before) = (Urgent::default(), policy());
        let raised = urgent.raise(1);
        // Without the right to it nothing changes, which is all that can be seen then.
        let allowed = policy() == libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        assert!(allowed || policy() == before);
        drop(raised);
        assert_eq!(policy(), before);
        let _again = urgent.raise(1);
        assert_eq!(policy() != before, allowed);
        urgent.lower_all();
        assert_eq!(policy(), before);
        let _late = urgent.raise(1);
        assert_eq!(policy(), before);
    }

    #[test]
    fn the_class_that_a_thread_had_is_what_it_gets_back() {
        let urgent = Urgent::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: takes no pointer.
                assert!(set(unsafe { libc::gettid() }, libc::SCHED_BATCH, 0));
                drop(urgent.raise(1));
                assert_eq!(policy(), libc::SCHED_BATCH);
            });
        });
    }
}
