//! Writing a whole test file on a share once.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use strata_io::{Io, Op, Queue};
use strata_pattern::{BlockMap, Rng, Segment, fill_incompressible};
use strata_smb::{OpenSpec, SmbQueue, Uri};

use crate::conductor::Epilogue;
use crate::control::Reason;
use crate::error::{Error, Result};
use crate::fill;
use crate::job::Sync;
use crate::outcome::BuildInfo;
use crate::remote::refused;
use crate::run::Run;
use crate::smb::{self, Manner};

/// Longest wait for one I/O outside the loop.
const PATIENCE: Duration = Duration::from_secs(30);

/// A file on a share to fill.
#[derive(Clone, Debug)]
pub struct SmbFill {
    /// An existing file of at least `size_bytes`.
    pub uri: Uri,
    /// How much of it, from the beginning.
    pub size_bytes: u64,
    /// Seed of the data.
    pub seed: u64,
    /// The first bytes (at most 4096); the rest of the first block is random.
    pub header: Vec<u8>,
}

/// Fill a file on a share, as [`fill()`](crate::fill()) fills a local one; a flush takes the place of `fdatasync`.
///
/// # Errors
/// The sizes do not fit, the file cannot be opened as asked, or the first block cannot be written.
pub fn fill_smb(spec: SmbFill, build: BuildInfo) -> Result<Run> {
    let SmbFill { uri, size_bytes, seed, header } = spec;
    let block = fill::block_bytes(size_bytes, &header)?;
    let step = u64::from(block);
    let (blocks, tail) = (size_bytes / step, size_bytes % step);
    let map = BlockMap::new(&[Segment { start: step, length: (blocks - 1) * step, target: step }], step)
        .ok_or_else(|| Error::Job(vec!["size_bytes: too small to fill".to_owned()]))?;
    let recipe = fill::recipe(map, seed, block);
    let mut edge = Edge::open(&uri, block)?;
    let there = edge.queue.size_bytes();
    if there < size_bytes {
        let why = format!("cannot fill {size_bytes} bytes of a file of {there}; extend it first");
        return Err(edge.fails(&why, libc::EINVAL));
    }
    edge.write(0, block, &header, seed)?;
    drop(edge);
    let at = uri.clone();
    let epilogue: Epilogue = Arc::new(move |reason| {
        if reason != Reason::Ios {
            return Ok(());
        }
        let mut edge = Edge::open(&at, block)?;
        if tail > 0 {
            edge.write(blocks * step, tail as u32, &[], seed ^ 1)?; // below one block
        }
        edge.carry(Io::flush(Op::Fdatasync, 0), 0)
    });
    let manner =
        Manner { connections: 1, sync: Sync::None, write: true, unbuffered: false, epilogue: Some(epilogue) };
    smb::launch(uri, manner, recipe, build, Some((blocks - 1, Reason::Ios)))
}

/// I/Os outside the loop, one at a time.
struct Edge {
    uri: Uri,
    queue: SmbQueue,
}

impl Edge {
    fn open(uri: &Uri, block: u32) -> Result<Self> {
        let spec = OpenSpec {
            depth: 1,
            block,
            connections: 1,
            write: true,
            through: false,
            through_each: false,
            unbuffered: false,
        };
        Ok(Self { uri: uri.clone(), queue: SmbQueue::open(uri, spec).map_err(refused)? })
    }

    fn write(&mut self, offset: u64, length: u32, head: &[u8], seed: u64) -> Result<()> {
        let data = &mut self.queue.buffer(0)[..length as usize];
        fill_incompressible(data, &mut Rng::new(seed, 3 << 32));
        data[..head.len()].copy_from_slice(head);
        self.carry(Io::new(Op::Write, 0, offset, length), length)
    }

    fn carry(&mut self, io: Io, expected: u32) -> Result<()> {
        self.queue.push(0, io);
        self.queue.submit(1, Some(PATIENCE)).map_err(refused)?;
        let mut result = None;
        self.queue.reap(|completion| result = Some(completion.result));
        let what = format!("cannot write {expected} bytes at {}", io.offset());
        match result {
            Some(got) if u32::try_from(got) == Ok(expected) => Ok(()),
            Some(got) if got < 0 => Err(self.fails(&what, -got)),
            Some(_) => Err(self.fails(&format!("{what}: only a part was written"), libc::EIO)),
            None => Err(self.fails(&format!("{what}: no answer within {PATIENCE:?}"), libc::ETIMEDOUT)),
        }
    }

    fn fails(&self, what: &str, errno: i32) -> Error {
        let source = io::Error::from_raw_os_error(errno);
        Error::Io(strata_io::Error { what: format!("{}: {what}", self.uri), path: None, source })
    }
}
