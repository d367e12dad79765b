//! What the run itself cost the processors.

use std::num::NonZeroU64;
use std::time::Duration;

/// Processor time and switches so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub user_ns: u64,
    pub system_ns: u64,
    pub voluntary: u64,
    pub involuntary: u64,
    /// Time runnable but not running; `None` when the kernel does not say.
    pub run_delay_ns: Option<u64>,
}

impl Usage {
    /// Of the calling thread.
    pub fn thread() -> Self {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let run_delay_ns = text.split_whitespace().nth(1).and_then(|field| field.parse().ok());
        Self { run_delay_ns, ..Self::of(libc::RUSAGE_THREAD) }
    }

    /// Of the whole process, the kernel's io_uring workers included; without run delay.
    pub fn process() -> Self {
        Self::of(libc::RUSAGE_SELF)
    }

    fn of(who: libc::c_int) -> Self {
        // SAFETY: rusage is plain data, for which all zeros is a valid value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: writes one rusage to a valid address; both values of `who` are known to every Linux.
        unsafe { libc::getrusage(who, &raw mut usage) };
        let ns = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000).as_nanos() as u64;
        Self {
            user_ns: ns(usage.ru_utime),
            system_ns: ns(usage.ru_stime),
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
            run_delay_ns: None,
        }
    }

    /// What was used since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
            run_delay_ns: self
                .run_delay_ns
                .zip(before.run_delay_ns)
                .map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

/// Let the calling thread's sleeps end when they should (the default slack is 50 µs, more than many an I/O).
pub fn tighten_timers() {
    // A refusal leaves the default, which only adds lag, and lag is recorded.
    let _refused = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
}
