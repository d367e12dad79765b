//! What the server's side of each request took, for whoever asks on a unix socket of its own.

use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use strata_hist::{HIGHEST_NS, Histogram, highest_equivalent};

use super::clock::readable;
use super::place::{self, Place};
use crate::lock::lock;
use crate::named::named;
use crate::nbd::codec::Command;

/// Longest wait for a client that asked and says nothing, or takes no answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// What a client sends to get every bucket of the times too.
const TIMES: u8 = b't';

/// One direction: requests, bytes, and how long each was at the server.
#[derive(Debug, Default)]
struct Direction {
    bytes: u64,
    times: Histogram,
}

/// Counters of a server, from its start.
#[derive(Debug, Default)]
pub(super) struct Stats {
    read: Mutex<Direction>,
    write: Mutex<Direction>,
    sync: Mutex<Direction>,
}

impl Stats {
    /// Count one request that was at the server for `took_ns`. Trims and zeroes move no data and are not counted.
    pub(super) fn count(&self, command: Command, bytes: u32, took_ns: u64) {
        let (direction, bytes) = match command {
            Command::Read => (&self.read, bytes),
            Command::Write => (&self.write, bytes),
            Command::Flush => (&self.sync, 0),
            Command::WriteZeroes | Command::Trim | Command::Disconnect | Command::Unknown(_) => return,
        };
        let mut direction = lock(direction);
        direction.bytes += u64::from(bytes);
        direction.times.record(took_ns);
    }

    /// `{"read":{"ops","bytes","time_ns"},"write":…,"sync":…}`; with `bins` also `[[highest ns of a bucket, count], …]`.
    fn json(&self, bins: bool) -> String {
        let of = |direction: &Mutex<Direction>| {
            let Direction { bytes, times } = &*lock(direction);
            let mut told = json!({"ops": times.count(), "bytes": bytes, "time_ns": times.sum_ns()});
            if bins {
                let highest = |index| highest_equivalent(index).min(HIGHEST_NS);
                told["bins"] = times.buckets().map(|(index, count)| json!([highest(index), count])).collect();
            }
            told
        };
        json!({"read": of(&self.read), "write": of(&self.write), "sync": of(&self.sync)}).to_string()
    }
}

/// The socket on which a server's counters are told; its file goes with it. `@name` is in no directory, so that nothing
/// is left even by a server that was killed.
#[derive(Debug)]
pub(super) struct Window {
    listener: UnixListener,
    _place: Option<Place>,
}

impl Window {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let abstractly = |name| {
            let bound = SocketAddr::from_abstract_name(name).and_then(|at| UnixListener::bind_addr(&at));
            bound.map(|listener| (listener, None))
        };
        let bound = match path.to_str().and_then(|text| text.strip_prefix('@')) {
            Some(name) => abstractly(name),
            None => place::bind(path).map(|(listener, place)| (listener, Some(place))),
        };
        let (listener, place) = bound.map_err(|error| {
            named(format_args!("target stats {}: cannot listen there", path.display()), &error)
        })?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, _place: place })
    }

    /// Answer one after the other until `stopped`. Who breaks off is nobody's concern.
    pub(super) fn answer(&self, stats: &Stats, stopped: impl Fn() -> bool) {
        while !stopped() {
            if readable(&self.listener)
                && let Ok((client, _)) = self.listener.accept()
            {
                let _gone = tell(stats, client);
            }
        }
    }
}

fn tell(stats: &Stats, mut client: UnixStream) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut asked = [0];
    client.read_exact(&mut asked)?;
    client.write_all(stats.json(asked[0] == TIMES).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_buckets_by_direction() {
        let stats = Stats::default();
        stats.count(Command::Read, 4096, 1_000);
        stats.count(Command::Read, 8192, 1_000);
        stats.count(Command::Flush, 0, 7);
        stats.count(Command::Trim, 4096, 9);
        let told: serde_json::Value = serde_json::from_str(&stats.json(true)).expect("JSON");
        let read = json!({"ops": 2, "bytes": 12288, "time_ns": 2000, "bins": [[1000, 2]]});
        let write = json!({"ops": 0, "bytes": 0, "time_ns": 0, "bins": []});
        let sync = json!({"ops": 1, "bytes": 0, "time_ns": 7, "bins": [[7, 1]]});
        assert_eq!(told, json!({"read": read, "write": write, "sync": sync}));
        assert!(!stats.json(false).contains("bins"));
    }
}
