//! Locks that outlive a panicking holder.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lock `mutex`; a poisoned lock is taken as it is. Every value behind such a lock is
/// consistent between two statements, so one thread's panic must not stop the others.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
