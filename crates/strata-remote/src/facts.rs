//! What is known of something remote before the first I/O, and what a job needs of it.

use std::fmt::Display;
use std::io;

use strata_proto::named_as;

/// What something is.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// What to call it: an export, a file, a unit.
    pub noun: &'static str,
    /// Its size.
    pub size_bytes: u64,
    /// I/Os begin at multiples of so many bytes.
    pub align: u32,
    /// Its blocks are `align` bytes long, and no queue says that an I/O is not of whole ones.
    pub blocks: bool,
    /// Longest I/O it takes, in bytes, where that is known.
    pub longest: Option<u32>,
    /// The word for that it takes no writes.
    pub read_only: Option<&'static str>,
    /// Several connections see the same data.
    pub shared: bool,
    /// It can be asked to write out what was written.
    pub flushes: bool,
}

/// What a job needs.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// Connections, over all threads.
    pub connections: u32,
    /// Whether it writes.
    pub write: bool,
    /// Said behind what takes no writes.
    pub writes: &'static str,
    /// Whether it flushes.
    pub flush: bool,
    /// Where its last block ends.
    pub end: u64,
    /// What to do about blocks that end too late.
    pub shorter: &'static str,
}

impl Facts {
    /// Of a file: any byte of it can be read and written over any connection.
    #[must_use]
    pub fn file(size_bytes: u64) -> Self {
        Self {
            noun: "file",
            size_bytes,
            align: 1,
            blocks: false,
            longest: None,
            read_only: None,
            shared: true,
            flushes: true,
        }
    }

    /// Whether it can do what a job needs.
    ///
    /// # Errors
    /// It cannot; named with the address and the next step.
    pub fn check(&self, uri: &impl Display, need: &Need) -> io::Result<()> {
        let Self { noun, size_bytes, .. } = self;
        let refuse = |errno, why: String| Err(named_as(format_args!("{uri}: {why}"), errno));
        if need.connections > 1 && !self.shared {
            let why =
                "the server does not promise one coherent disk over several connections (CAN_MULTI_CONN)";
            let next = format!("{} are needed; use connections=1, threads=1", need.connections);
            return refuse(libc::EOPNOTSUPP, format!("{why}, {next}"));
        }
        if let (true, Some(word)) = (need.write, self.read_only) {
            return refuse(libc::EROFS, format!("the {noun} is {word}{}", need.writes));
        }
        if need.flush && !self.flushes {
            let why = "the server does not offer flushes, which fsync and fdatasync need; leave them out";
            return refuse(libc::EOPNOTSUPP, why.to_owned());
        }
        if need.end > *size_bytes {
            let why = format!("the blocks end at byte {}, the {noun} has {size_bytes}", need.end);
            return refuse(libc::EINVAL, format!("{why}; {}", need.shorter));
        }
        Ok(())
    }
}
