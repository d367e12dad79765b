//! A look at a file on a share, and round trips that touch no data.

use std::io;
use std::time::{Duration, Instant};

use smb2::msg::echo::EchoRequest;
use smb2::types::Command;

use crate::dial::{Agreed, CreateOptions, Purpose, dial};
use crate::uri::Uri;

/// What was seen.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Bytes of the file.
    pub size_bytes: u64,
    /// What both sides agreed on.
    pub agreed: Agreed,
    /// Connecting, logging on and opening, in ns.
    pub connect_ns: u64,
    /// Each of the exchanges of `ECHO`, in ns: wire and protocol only.
    pub rtt_ns: Vec<u64>,
}

/// Connect, open, and exchange `rounds` echoes, waiting `patience` and at most 10 s for each answer.
///
/// # Errors
/// The server cannot be reached or refuses; named with the address.
pub fn probe(uri: &Uri, rounds: u32, patience: Duration) -> io::Result<Probe> {
    let begun = Instant::now();
    let mut found = dial(uri, Purpose::Read, CreateOptions::default(), patience)?;
    let connect_ns = nanos(begun);
    let mut rtt_ns = Vec::with_capacity(rounds as usize);
    for _ in 0..rounds {
        let begun = Instant::now();
        found.talk.demand("waiting for an echo", Command::Echo, &EchoRequest, 0)?;
        rtt_ns.push(nanos(begun));
    }
    Ok(Probe { size_bytes: found.size_bytes, agreed: found.agreed, connect_ns, rtt_ns })
}

fn nanos(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
