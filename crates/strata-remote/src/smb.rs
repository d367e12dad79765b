//! `smb://`: a file on an SMB 3.1.1 share.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use strata_io::{Io, Op, Queue};
use strata_proto::named_as;
use strata_smb::{Agreed, CREDIT_BYTES, OpenSpec, SmbQueue, Spread, Uri};

use crate::{Address, Facts, Load, Place, Scheme};

/// Longest wait for one I/O outside the loop.
const PATIENCE: Duration = Duration::from_secs(30);

/// A file on a share.
#[derive(Clone, Debug)]
pub struct Smb {
    uri: Uri,
    size_bytes: u64,
    agreed: Agreed,
    spread: Spread,
}

fn queue(uri: &Uri, load: &Load, depth: u32, connections: u32, spread: &Spread) -> io::Result<SmbQueue> {
    let &Load { block, write, unbuffered, .. } = load;
    // The open file promises it for all writes; where a server looks at the flag of each write alone, that is there too.
    let (through, through_each) = (load.dsync_open, load.dsync);
    let spec = OpenSpec { depth, block, connections, write, through, through_each, unbuffered };
    SmbQueue::open_over(uri, spec, spread, load.patience)
}

/// I/Os in flight at most on one connection of a thread.
fn depth_of_one(load: &Load) -> u32 {
    load.depth.div_ceil(load.share(0))
}

impl Scheme for Smb {
    const NAME: &'static str = "smb";
    const WORDS: &'static [&'static str] = &["password", "direct"];
    const TRIED: bool = true;
    type Uri = Uri;
    type Queue = SmbQueue;

    fn parse(place: &Place) -> io::Result<(Uri, Option<u32>)> {
        let (mut uri, wished) = Uri::at(place)?;
        uri.what.set_password(place.password.clone());
        Ok((uri, wished))
    }

    fn open(uri: &Uri, load: &Load) -> io::Result<Self> {
        // As one connection of a thread will: what the server grants depends on it.
        let first = queue(uri, load, depth_of_one(load), 1, &Spread::default())?;
        let wanted = load.connections > 1 && uri.what.spread && first.agreed().multichannel;
        let spread =
            if wanted { Spread::over(uri, load.connections, load.patience)? } else { Spread::default() };
        Ok(Self { uri: uri.clone(), size_bytes: first.size_bytes(), agreed: *first.agreed(), spread })
    }

    fn facts(&self) -> Facts {
        Facts::file(self.size_bytes)
    }

    fn queue(&self, load: &Load, depth: u32, connections: u32) -> io::Result<SmbQueue> {
        queue(&self.uri, load, depth, connections, &self.spread)
    }

    fn setup(queue: &SmbQueue, _load: &Load) -> Vec<String> {
        let Agreed { dialect, signing, encryption, .. } = queue.agreed();
        vec![(*dialect).to_owned(), format!("signing {signing}"), format!("encryption {encryption}")]
    }

    fn agreed(&self, load: &Load) -> Option<(&'static str, Value)> {
        let (agreed, multichannel) = (&self.agreed, self.uri.what.multichannel);
        let agreed = json!({
            "dialect": agreed.dialect,
            "signing": agreed.signing, // of every request; `none` also where all is encrypted
            "encryption": agreed.encryption,
            "sessions": if multichannel { load.threads } else { load.connections }, // over all threads
            "channels": if multichannel { load.share(0) } else { 1 }, // connections of one session
            // Each connection to the next; empty: all to the one that was named.
            "addresses": self.spread.addresses().map(|address| address.to_string()).collect::<Vec<_>>(),
            "max_read_bytes": agreed.max_read,
            "max_write_bytes": agreed.max_write,
            "credits": agreed.credits, // of one connection when it was opened
            // With which the whole depth of one connection could be in flight. Where they are more than there are,
            // requests wait for credits, and that is in their service time.
            "credits_needed": depth_of_one(load).saturating_mul(load.block.div_ceil(CREDIT_BYTES)),
            "unbuffered_asked": load.unbuffered,
        });
        Some((Self::NAME, agreed))
    }

    fn probe(uri: &Uri, rounds: u32, patience: Duration) -> io::Result<Value> {
        let seen = strata_smb::probe(uri, rounds, patience)?;
        Ok(json!({
            "size_bytes": seen.size_bytes,
            "dialect": seen.agreed.dialect,
            "signing": seen.agreed.signing,
            "encryption": seen.agreed.encryption,
            "max_read_bytes": seen.agreed.max_read,
            "max_write_bytes": seen.agreed.max_write,
            "multichannel": seen.agreed.multichannel,
            "multi_conn": true, // any file can be opened over several connections
            "connect_ns": seen.connect_ns,
            "rtt_ns": seen.rtt_ns,
        }))
    }

    fn read(uri: &Uri, offset: u64, length: u64, patience: Duration) -> io::Result<Vec<u8>> {
        strata_smb::read_range(uri, offset, length, patience)
    }

    fn create(uri: &Uri, size_bytes: u64, header: &[u8], patience: Duration) -> io::Result<()> {
        strata_smb::create(uri, size_bytes, header, patience)
    }

    fn remove(uri: &Uri, header: &[u8], patience: Duration) -> io::Result<()> {
        strata_smb::remove(uri, header, patience).map(drop)
    }

    fn write(&self, uri: &Uri, offset: u64, data: &[u8], flush: bool) -> io::Result<()> {
        let length = data.len() as u32; // of a fill, below a megabyte or one
        let spec =
            OpenSpec { depth: 1, block: length.max(1), connections: 1, write: true, ..OpenSpec::default() };
        let mut queue = SmbQueue::open(uri, spec)?;
        if length > 0 {
            queue.buffer(0)[..data.len()].copy_from_slice(data);
            carry(uri, &mut queue, Io::new(Op::Write, 0, offset, length), length)?;
        }
        if flush { carry(uri, &mut queue, Io::flush(Op::Fdatasync, 0), 0) } else { Ok(()) }
    }
}

/// One I/O outside the loop.
fn carry(uri: &Uri, queue: &mut SmbQueue, io: Io, expected: u32) -> io::Result<()> {
    queue.push(0, io);
    queue.submit(1, Some(PATIENCE))?;
    let mut result = None;
    queue.reap(|completion| result = Some(completion.result));
    let what = format!("{uri}: cannot write {expected} bytes at {}", io.offset());
    match result {
        Some(got) if u32::try_from(got) == Ok(expected) => Ok(()),
        Some(got) if got < 0 => Err(named_as(what, -got)),
        Some(_) => Err(named_as(format_args!("{what}: only a part was written"), libc::EIO)),
        None => Err(named_as(format_args!("{what}: no answer within {PATIENCE:?}"), libc::ETIMEDOUT)),
    }
}
