//! The wire and the cap that a target pretends to have.

use std::sync::Mutex;
use std::time::Duration;

use super::config::ShapingConfig;
use super::timeline::Timeline;
use crate::lock::lock;

/// Shaping state, shared by all connections.
#[derive(Debug)]
pub(super) struct Shaping {
    ns_per_byte: Option<f64>,
    spacing_ns: Option<f64>,
    latency_ns: u64,
    inbound: Mutex<Inbound>,
    outbound: Mutex<Timeline>,
}

/// What a request passes on its way in; one lock, so that the cap sees requests as they arrive.
#[derive(Debug, Default)]
struct Inbound {
    link: Timeline,
    cap: Timeline,
}

impl Shaping {
    pub(super) fn new(config: &ShapingConfig) -> Self {
        Self {
            ns_per_byte: config.bandwidth_bytes_per_s.map(|rate| 1e9 / rate as f64),
            spacing_ns: config.iops.map(|iops| 1e9 / iops),
            latency_ns: config.latency_ns,
            inbound: Mutex::default(),
            outbound: Mutex::default(),
        }
    }

    /// What is added to each round trip.
    pub(super) fn latency(&self) -> Duration {
        Duration::from_nanos(self.latency_ns)
    }

    /// When a message of `bytes` whose first byte came at `at_ns` has crossed the inbound link.
    pub(super) fn arrive(&self, at_ns: u64, bytes: u64) -> u64 {
        match self.ns_per_byte {
            Some(cost) => lock(&self.inbound).link.pass(at_ns, bytes as f64 * cost).end_ns,
            None => at_ns,
        }
    }

    /// When a request of `bytes` may be served: across the link, then through the cap.
    pub(super) fn admit(&self, at_ns: u64, bytes: u64) -> u64 {
        if self.ns_per_byte.is_none() && self.spacing_ns.is_none() {
            return at_ns;
        }
        let mut inbound = lock(&self.inbound);
        let arrived = match self.ns_per_byte {
            Some(cost) => inbound.link.pass(at_ns, bytes as f64 * cost).end_ns,
            None => at_ns,
        };
        match self.spacing_ns {
            Some(spacing) => inbound.cap.pass(arrived, spacing).start_ns,
            None => arrived,
        }
    }

    /// When a message of `bytes` that is ready at `ready_ns` reaches the client: across the
    /// outbound link, plus the latency of the round trip (all of it is put on the way back).
    pub(super) fn leave(&self, ready_ns: u64, bytes: u64) -> u64 {
        let sent = match self.ns_per_byte {
            Some(cost) => lock(&self.outbound).pass(ready_ns, bytes as f64 * cost).end_ns,
            None => ready_ns,
        };
        sent + self.latency_ns
    }
}
