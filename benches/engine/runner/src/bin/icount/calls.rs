//! Which system calls do I/Os, and how many one call did.

/// Kinds of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The result is a number of I/Os.
    Many,
    /// One I/O when it moved anything.
    One,
}

const CALLS: [(i64, &str, Kind); 8] = [
    (libc::SYS_io_uring_enter, "io_uring_enter", Kind::Many),
    (libc::SYS_io_submit, "io_submit", Kind::Many),
    (libc::SYS_pread64, "pread64", Kind::One),
    (libc::SYS_pwrite64, "pwrite64", Kind::One),
    (libc::SYS_preadv, "preadv", Kind::One),
    (libc::SYS_pwritev, "pwritev", Kind::One),
    (libc::SYS_preadv2, "preadv2", Kind::One),
    (libc::SYS_pwritev2, "pwritev2", Kind::One),
];

/// I/Os handed over by call `number` that returned `result`.
pub fn ios(number: u64, result: i64) -> u64 {
    let known = CALLS.iter().find(|(call, ..)| *call as u64 == number);
    match known {
        Some((.., Kind::Many)) => result.max(0) as u64,
        Some((.., Kind::One)) => u64::from(result > 0),
        None => 0,
    }
}

/// What call `number` is called.
pub fn name(number: u64) -> String {
    let known = CALLS.iter().find(|(call, ..)| *call as u64 == number);
    known.map_or_else(|| format!("call_{number}"), |(_, name, _)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_hands_over_many_and_a_read_one() {
        let ring = libc::SYS_io_uring_enter as u64;
        assert_eq!((ios(ring, 8), ios(ring, 0), ios(ring, -62)), (8, 0, 0));
        let read = libc::SYS_pread64 as u64;
        assert_eq!((ios(read, 4096), ios(read, -5)), (1, 0));
        assert_eq!(ios(libc::SYS_write as u64, 10), 0);
    }
}
