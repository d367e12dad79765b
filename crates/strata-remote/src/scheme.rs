//! What a scheme has to be able to do.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use strata_io::bounds::CONNECTIONS_MOST;
use strata_io::{Queue, RunError};
use strata_proto::address::{Protocol, Uri};
use strata_smb::Password;

use crate::facts::Facts;
use crate::refused;

/// An address and what does not stand in it.
#[derive(Clone, Debug)]
pub struct Place {
    /// The address.
    pub uri: String,
    /// Path of the network namespace it is dialled from; `None`: the process's own.
    pub netns: Option<PathBuf>,
    /// In place of one in the address.
    pub password: Option<Password>,
}

/// An address of one scheme.
pub trait Address: Display + Clone + Send + Sync + 'static {
    /// What `place` says, and the connections it asks for.
    ///
    /// # Errors
    /// It is none of this scheme.
    fn at(place: &Place) -> io::Result<(Self, Option<u32>)>;
}

impl<T: Protocol + Clone + Send + Sync + 'static> Address for Uri<T> {
    fn at(place: &Place) -> io::Result<(Self, Option<u32>)> {
        let uri: Self = place.uri.parse()?;
        let wished = uri.connections;
        Ok((uri.from_namespace(place.netns.clone()), wished))
    }
}

/// How something is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Threads; each has connections of its own.
    pub threads: u32,
    /// I/Os in flight of one thread.
    pub depth: u32,
    /// Bytes of the longest I/O.
    pub block: u32,
    /// Connections, over all threads.
    pub connections: u32,
    /// Whether anything is written.
    pub write: bool,
    /// Each write asks to be durable when it is answered.
    pub dsync: bool,
    /// So does the file when it is opened, where the protocol opens files.
    pub dsync_open: bool,
    /// The server is asked to go past its cache.
    pub unbuffered: bool,
    /// Longest wait for a connection and each answer before the load; the clients bound it to 10 s.
    pub patience: Duration,
}

impl Load {
    /// Connections of thread number `thread`.
    #[must_use]
    pub fn share(&self, thread: u32) -> u32 {
        self.connections / self.threads + u32::from(thread < self.connections % self.threads)
    }
}

/// A scheme; a value of it is something that was looked at once, from which the queues of all threads are made.
///
/// Every error names the address. `patience` is for a connection and for each answer, and at most 10 s.
pub trait Scheme: Clone + Send + Sync + 'static {
    /// The word by which jobs and addresses name it.
    const NAME: &'static str;
    /// Words of a job's target that only some schemes have: `password`, `direct`.
    const WORDS: &'static [&'static str] = &[];
    /// [`Self::open`] makes a queue, so what is wrong with all queues alike has been said.
    const TRIED: bool = false;
    /// A connection carries one request at a time: there is one for each I/O in flight, unless the address says how many.
    const ONE_AT_A_TIME: bool = false;
    /// An address that was read.
    type Uri: Address;
    /// What carries the I/Os of a thread.
    type Queue: Queue + 'static;

    /// As [`Address::at`].
    ///
    /// # Errors
    /// It is none of this scheme.
    fn parse(place: &Place) -> io::Result<(Self::Uri, Option<u32>)> {
        Self::Uri::at(place)
    }

    /// Look at it, before any thread starts.
    ///
    /// # Errors
    /// It cannot be reached, or not in this way.
    fn open(uri: &Self::Uri, load: &Load) -> io::Result<Self>;

    /// What it is, for the checks before the first I/O.
    fn facts(&self) -> Facts;

    /// A queue of `depth` slots over so many connections.
    ///
    /// # Errors
    /// The server cannot be reached, or does not take such I/Os.
    fn queue(&self, load: &Load, depth: u32, connections: u32) -> io::Result<Self::Queue>;

    /// Words for what was agreed on for a queue.
    fn setup(queue: &Self::Queue, load: &Load) -> Vec<String>;

    /// What only this scheme has to say of what is in force: a key of the result's `effective` and its value.
    fn agreed(&self, _load: &Load) -> Option<(&'static str, Value)> {
        None
    }

    /// Look at it and time `rounds` exchanges that touch no data: at least `size_bytes`, `multi_conn` (several connections
    /// see the same data), `connect_ns` and `rtt_ns`.
    ///
    /// # Errors
    /// It cannot be reached.
    fn probe(uri: &Self::Uri, rounds: u32, patience: Duration) -> io::Result<Value>;

    /// `length` bytes from `offset`.
    ///
    /// # Errors
    /// It cannot be reached, it ends before, or a read fails.
    fn read(uri: &Self::Uri, offset: u64, length: u64, patience: Duration) -> io::Result<Vec<u8>>;

    /// Make a file of `size_bytes` that begins with `header`.
    ///
    /// # Errors
    /// Something is there (`EEXIST`), the server refuses, or the scheme has no files.
    fn create(uri: &Self::Uri, _size_bytes: u64, _header: &[u8], _patience: Duration) -> io::Result<()> {
        Err(no_file(uri))
    }

    /// Remove a file. Where the protocol can, only if it still begins with `header` (`EPERM`).
    ///
    /// # Errors
    /// The server refuses, or the scheme has no files.
    fn remove(uri: &Self::Uri, _header: &[u8], _patience: Duration) -> io::Result<()> {
        Err(no_file(uri))
    }

    /// Write `data` at `offset`, outside the loop; with `flush`, have the server also write out all that was written.
    ///
    /// # Errors
    /// The server refuses, or the scheme has no files.
    fn write(&self, uri: &Self::Uri, _offset: u64, _data: &[u8], _flush: bool) -> io::Result<()> {
        Err(no_file(uri))
    }
}

fn no_file(uri: &impl Display) -> io::Error {
    strata_proto::named_as(format_args!("{uri}: it is no file"), libc::EOPNOTSUPP)
}

/// Something behind a network that was looked at, and how it is loaded.
#[derive(Clone, Debug)]
pub struct Remote<S: Scheme> {
    /// What it is.
    pub there: S,
    /// Where it is.
    pub uri: S::Uri,
    /// How it is loaded.
    pub load: Load,
}

impl<S: Scheme> Remote<S> {
    /// Look at it. Connections are as many as are asked for, as many as the address asks for (else, where each carries one
    /// request at a time, one for each I/O in flight, at most 64), and one for each thread.
    ///
    /// # Errors
    /// It is no address of this scheme, it cannot be reached, or not in this way.
    pub fn open(place: &Place, mut load: Load) -> Result<Self, RunError> {
        let (uri, wished) = S::parse(place).map_err(|e| RunError::Job(vec![format!("target.uri: {e}")]))?;
        let all = load.threads.saturating_mul(load.depth).min(CONNECTIONS_MOST);
        let usual = if S::ONE_AT_A_TIME { all } else { 1 };
        load.connections = load.connections.max(wished.unwrap_or(usual)).max(load.threads);
        Ok(Self { there: S::open(&uri, &load).map_err(refused)?, uri, load })
    }

    /// Say what is wrong with all queues alike, before any thread starts.
    ///
    /// # Errors
    /// No queue can be made.
    pub fn try_queue(&self) -> io::Result<()> {
        if S::TRIED { Ok(()) } else { self.there.queue(&self.load, 1, 1).map(drop) }
    }

    /// The queue of thread number `thread`.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn queue(&self, thread: u32) -> io::Result<S::Queue> {
        self.there.queue(&self.load, self.load.depth, self.load.share(thread))
    }
}
