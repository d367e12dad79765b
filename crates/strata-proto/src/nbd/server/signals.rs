//! SIGTERM and SIGINT as a flag.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
const SIGNALS: [i32; 2] = [libc::SIGTERM, libc::SIGINT];

extern "C" fn note(_signal: i32) {
    ASKED.store(true, Ordering::Relaxed); // all that is allowed in a handler, and all that is needed
}

/// While this lives, SIGTERM and SIGINT set [`StopOnSignals::asked`] instead of what they did
/// before; dropping it puts the former handlers back. Keep one at a time.
pub struct StopOnSignals {
    former: Vec<(i32, libc::sigaction)>,
}

impl StopOnSignals {
    /// Take the signals over.
    ///
    /// # Errors
    /// The kernel refuses (it does not, for these two).
    pub fn install() -> io::Result<Self> {
        ASKED.store(false, Ordering::Relaxed);
        let mut installed = Self { former: Vec::new() };
        for signal in SIGNALS {
            // SAFETY: all-zero is a valid sigaction: no flags, empty mask, default handler.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            action.sa_sigaction = note as *const () as libc::sighandler_t;
            // SAFETY: as above.
            let mut former: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: both point at live values; the handler is async-signal-safe.
            if unsafe { libc::sigaction(signal, &action, &mut former) } != 0 {
                return Err(io::Error::last_os_error());
            }
            installed.former.push((signal, former));
        }
        Ok(installed)
    }

    /// Whether one of the signals came.
    #[must_use]
    pub fn asked(&self) -> bool {
        ASKED.load(Ordering::Relaxed)
    }
}

impl Drop for StopOnSignals {
    fn drop(&mut self) {
        for (signal, former) in &self.former {
            // SAFETY: `former` is what the kernel gave for this signal.
            let _kept = unsafe { libc::sigaction(*signal, former, std::ptr::null_mut()) };
        }
    }
}
