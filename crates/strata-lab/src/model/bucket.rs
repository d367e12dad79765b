//! Caps on rates, as a host or a cloud enforces them: before the disk, with a burst allowance.

use super::{Params, transfer_ns};

/// Two token buckets, kept as the time at which each is full again (the generic cell rate algorithm of ITU-T I.371).
#[derive(Debug, Default)]
pub struct Caps {
    ops_full_ns: u64,
    bytes_full_ns: u64,
    last_ns: u64,
}

impl Caps {
    /// When an I/O of `len` bytes that arrives at `now_ns` is let through. Order is kept.
    pub fn admit(&mut self, p: &Params, now_ns: u64, len: u64) -> u64 {
        let mut at = now_ns;
        if p.iops > 0.0 {
            let each = 1e9 / p.iops;
            at = at.max(take(&mut self.ops_full_ns, now_ns, each as u64, (each * p.iops_burst) as u64));
        }
        if p.mbps > 0.0 {
            let (cost, burst) = (transfer_ns(len, p.mbps), transfer_ns(p.mbps_burst, p.mbps));
            at = at.max(take(&mut self.bytes_full_ns, now_ns, cost, burst));
        }
        if p.iops > 0.0 || p.mbps > 0.0 {
            at = at.max(self.last_ns);
            self.last_ns = at;
        }
        at
    }
}

fn take(full_ns: &mut u64, now_ns: u64, cost_ns: u64, burst_ns: u64) -> u64 {
    let at = now_ns.max(full_ns.saturating_sub(burst_ns));
    *full_ns = now_ns.max(*full_ns) + cost_ns;
    at
}
