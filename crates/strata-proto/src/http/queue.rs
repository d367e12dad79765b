//! The load loop's queue of ranged reads.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::wire::Http;
use crate::line::Line;
use crate::named::{named, named_as};
use crate::transport::{MAX_PAYLOAD, OpenSpec, Transport};

/// A [`strata_io::Queue`] of reads of one resource, one request at a time on each connection.
///
/// An I/O goes to the connection that has least to do; what finds all of them busy waits here, and that is in its time. A
/// read that ends at the end of the resource completes with the bytes that came. Nothing can be written.
pub type HttpQueue = Transport<Http>;

impl HttpQueue {
    /// Connect to `host` from the network namespace at `netns`, waiting `patience` and at most 10 s for each connection.
    /// `name` is what errors call it, `request` a whole head of a GET without a range.
    ///
    /// # Errors
    /// The server cannot be reached, or the depth or block is beyond what can be asked; named.
    pub fn open(
        name: &str,
        (host, port, netns): (&str, u16, Option<&Path>),
        request: &str,
        spec: OpenSpec,
        patience: Duration,
    ) -> io::Result<Self> {
        let OpenSpec { depth, block, connections, .. } = spec;
        if depth == 0 || connections == 0 || !(1..=MAX_PAYLOAD).contains(&block) {
            let why = format!(
                "{name}: depth, connections and blocks (at most {MAX_PAYLOAD} bytes) must be positive"
            );
            return Err(named_as(why, libc::EINVAL));
        }
        let common = request.strip_suffix("\r\n").unwrap_or(request);
        let common: Arc<[u8]> = format!("{common}Range: bytes=").into_bytes().into();
        let mut wires = Vec::new();
        for _ in 0..connections {
            let line = Line::dial(host, port, netns, patience)
                .map_err(|error| named(format_args!("{name}: cannot connect"), &error))?;
            wires.push((line.into_socket(), Http::new(common.clone())));
        }
        Self::new(name.to_owned(), wires, depth, block)
    }
}
