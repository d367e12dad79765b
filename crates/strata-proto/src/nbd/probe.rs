//! A look at an export that touches no data.

use std::io;
use std::time::Duration;

use super::dial::{InfoReply, Negotiation};
use super::uri::Uri;
use crate::line::timed;
use crate::nbd::codec::{Export, consts};

/// Connections a probe makes to time them.
const CONNECTS: u32 = 3;

/// What a probe saw.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The export.
    pub export: Export,
    /// Whether the server agreed to structured replies.
    pub structured: bool,
    /// From the call of `connect` to the whole greeting, in nanoseconds, one for each connection made.
    pub connect_ns: Vec<u64>,
    /// From sending `NBD_OPT_INFO` to its last reply, in nanoseconds: wire and protocol, no data.
    pub rtt_ns: Vec<u64>,
}

/// Connect to `uri`, ask for the export's properties `rounds` times during haggling, and leave. Waits
/// `patience` and at most 10 s for each answer.
///
/// # Errors
/// The server cannot be reached, is no NBD server or has no such export; named with the address.
pub fn probe(uri: &Uri, rounds: u32, patience: Duration) -> io::Result<Probe> {
    let mut connect_ns = Vec::new();
    for _ in 1..CONNECTS {
        timed(&mut connect_ns, || Negotiation::start(uri, patience))?.abort();
    }
    let mut negotiation = timed(&mut connect_ns, || Negotiation::start(uri, patience))?;
    negotiation.ask_structured()?;
    let mut rtt_ns = Vec::new();
    let mut last = None;
    for _ in 0..rounds.max(1) {
        // An answer that the server does not know it is a round trip as well.
        last = Some(timed(&mut rtt_ns, || negotiation.info(consts::OPT_INFO))?);
    }
    rtt_ns.truncate(rounds as usize);
    let export = match last {
        Some(InfoReply::Export(export)) => {
            negotiation.abort();
            export
        }
        _ => negotiation.export_name()?,
    };
    Ok(Probe { export, structured: negotiation.structured, connect_ns, rtt_ns })
}
