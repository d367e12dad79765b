//! A look at a file on a share, and round trips that touch no data.

use std::io;
use std::time::Duration;

use smb2::msg::echo::EchoRequest;
use smb2::types::Command;
use strata_proto::line::timed;

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
    let (mut connect_ns, mut rtt_ns) = (Vec::new(), Vec::new());
    let mut found = timed(&mut connect_ns, || dial(uri, Purpose::Read, CreateOptions::default(), patience))?;
    for _ in 0..rounds {
        timed(&mut rtt_ns, || found.talk.demand("waiting for an echo", Command::Echo, &EchoRequest, 0))?;
    }
    Ok(Probe {
        size_bytes: found.size_bytes,
        agreed: found.agreed,
        connect_ns: connect_ns.iter().sum(),
        rtt_ns,
    })
}
