//! How slow a client may be while it holds memory of the server's.

use std::io;
use std::time::{Duration, Instant};

/// Longest silence of a client in the middle of something: of its handshake, of a write's data, of taking a reply.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// What a client may take for each byte, beside its patience: 100 kB a second. One byte now and then is no progress.
const FOR_EACH_BYTE: Duration = Duration::from_micros(10);

/// A transfer in the middle of which a client is.
#[derive(Debug)]
pub(super) struct Pace {
    begun: Instant,
    moved: u32,
}

impl Pace {
    /// It begins now.
    pub(super) fn begin() -> Self {
        Self { begun: Instant::now(), moved: 0 }
    }

    /// So many bytes more were moved.
    ///
    /// # Errors
    /// All of it together was too slow for too long.
    pub(super) fn moved(&mut self, bytes: usize) -> io::Result<()> {
        self.moved = self.moved.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        self.holds(self.begun.elapsed())
    }

    fn holds(&self, elapsed: Duration) -> io::Result<()> {
        if elapsed <= PATIENCE + FOR_EACH_BYTE * self.moved {
            Ok(())
        } else {
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_now_and_then_is_no_progress_and_a_slow_link_is() {
        let drips = Pace { begun: Instant::now(), moved: 60 };
        assert!(drips.holds(PATIENCE).is_ok());
        assert!(drips.holds(PATIENCE + Duration::from_secs(1)).is_err());
        let slow = Pace { begun: Instant::now(), moved: 32 << 20 };
        assert!(slow.holds(Duration::from_secs(300)).is_ok());
    }
}
