//! The result of work in other threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A result as JSON, or why there is none.
pub type Outcome<E> = Result<String, Arc<E>>;

/// A result that comes once, and whoever waits for it.
#[derive(Debug)]
pub struct Awaited<E> {
    outcome: Mutex<Option<Outcome<E>>>,
    come: Condvar,
}

impl<E> Default for Awaited<E> {
    fn default() -> Self {
        Self { outcome: Mutex::new(None), come: Condvar::new() }
    }
}

impl<E> Awaited<E> {
    /// It has come.
    pub fn finish(&self, result: Result<String, E>) {
        *self.lock() = Some(result.map_err(Arc::new));
        self.come.notify_all();
    }

    /// Wait up to `timeout` for it; with none: the result when there is one.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<Outcome<E>> {
        let waited = self.come.wait_timeout_while(self.lock(), timeout, |outcome| outcome.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Outcome<E>>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
