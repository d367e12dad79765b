//! What can be set, by name: `key=value` words. Times are µs (windows: ms), rates MB/s of 10⁶ bytes, sizes bytes.

use super::Op;
use crate::words::{NS_PER_MS, NS_PER_US, each, ms, rate, share, size, us, whole};

const MS: u64 = 1_000_000;

/// How a service time varies around its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Not.
    None,
    /// Equally likely within `spread` of the mean.
    Uniform,
    /// Without memory: many short ones, few long ones.
    Exponential,
}

/// Parameters of the model. Times in it are ns. The page of the lab's parts says what each does.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Params {
    pub c: u32,
    pub svc_r: u64,
    pub svc_w: u64,
    pub jitter: Jitter,
    pub spread: f64,
    pub seed: u64,
    pub bw_r: f64,
    pub bw_w: f64,
    pub seek: u64,
    pub settle: u64,
    pub rpm: f64,
    pub ahead: u64,
    pub members: u32,
    pub stripe: u64,
    pub block: u64,
    pub block_svc: u64,
    pub lame: Option<u32>,
    pub lame_factor: f64,
    pub wcache: u64,
    pub wcache_svc: u64,
    pub drain: f64,
    pub drain_svc: u64,
    pub rcache: u64,
    pub rcache_svc: u64,
    pub rcache_block: u64,
    pub flush: u64,
    pub stall_every: u64,
    pub stall_for: u64,
    pub gc_every: u64,
    pub gc_for: u64,
    pub gc_factor: f64,
    pub iops: f64,
    pub iops_burst: f64,
    pub mbps: f64,
    pub mbps_burst: u64,
    pub eio_r: f64,
    pub eio_w: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            c: 1,
            svc_r: 0,
            svc_w: 0,
            jitter: Jitter::None,
            spread: 0.5,
            seed: 1,
            bw_r: 0.0,
            bw_w: 0.0,
            seek: 0,
            settle: 0,
            rpm: 0.0,
            ahead: 0,
            members: 1,
            stripe: 64 << 10,
            block: 0,
            block_svc: 0,
            lame: None,
            lame_factor: 10.0,
            wcache: 0,
            wcache_svc: 20_000,
            drain: 0.0,
            drain_svc: 0,
            rcache: 0,
            rcache_svc: 20_000,
            rcache_block: 4096,
            flush: 0,
            stall_every: 0,
            stall_for: 0,
            gc_every: 0,
            gc_for: 0,
            gc_factor: 10.0,
            iops: 0.0,
            iops_burst: 0.0,
            mbps: 0.0,
            mbps_burst: 0,
            eio_r: 0.0,
            eio_w: 0.0,
        }
    }
}

impl Params {
    /// These, with the words of `text` applied in order.
    ///
    /// # Errors
    /// The first word that is not `key=value`, not known, or not a value of its kind.
    pub fn with(&self, text: &str) -> Result<Self, String> {
        let mut changed = self.clone();
        each(text, |key, value| changed.apply(key, value))?;
        Ok(changed)
    }

    /// The words that make these of the default ones.
    #[must_use]
    pub fn words(&self) -> String {
        let plain = Self::default().pairs();
        let differ = self.pairs().into_iter().zip(plain).filter(|(ours, plain)| ours != plain);
        differ.map(|((key, value), _)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    }

    fn pairs(&self) -> Vec<(&'static str, String)> {
        let us = |ns: u64| (ns as f64 / NS_PER_US).to_string();
        let ms = |ns: u64| (ns as f64 / NS_PER_MS).to_string();
        let jitter = match self.jitter {
            Jitter::None => "none",
            Jitter::Uniform => "uniform",
            Jitter::Exponential => "exponential",
        };
        vec![
            ("c", self.c.to_string()),
            ("svc_r", us(self.svc_r)),
            ("svc_w", us(self.svc_w)),
            ("jitter", jitter.to_owned()),
            ("spread", self.spread.to_string()),
            ("seed", self.seed.to_string()),
            ("bw_r", self.bw_r.to_string()),
            ("bw_w", self.bw_w.to_string()),
            ("seek", us(self.seek)),
            ("settle", us(self.settle)),
            ("rpm", self.rpm.to_string()),
            ("ahead", self.ahead.to_string()),
            ("members", self.members.to_string()),
            ("stripe", self.stripe.to_string()),
            ("block", self.block.to_string()),
            ("block_svc", us(self.block_svc)),
            ("lame", self.lame.map_or("none".to_owned(), |lame| lame.to_string())),
            ("lame_factor", self.lame_factor.to_string()),
            ("wcache", self.wcache.to_string()),
            ("wcache_svc", us(self.wcache_svc)),
            ("drain", self.drain.to_string()),
            ("drain_svc", us(self.drain_svc)),
            ("rcache", self.rcache.to_string()),
            ("rcache_svc", us(self.rcache_svc)),
            ("rcache_block", self.rcache_block.to_string()),
            ("flush", us(self.flush)),
            ("stall_every", ms(self.stall_every)),
            ("stall_for", ms(self.stall_for)),
            ("gc_every", ms(self.gc_every)),
            ("gc_for", ms(self.gc_for)),
            ("gc_factor", self.gc_factor.to_string()),
            ("iops", self.iops.to_string()),
            ("iops_burst", self.iops_burst.to_string()),
            ("mbps", self.mbps.to_string()),
            ("mbps_burst", self.mbps_burst.to_string()),
            ("eio_r", self.eio_r.to_string()),
            ("eio_w", self.eio_w.to_string()),
        ]
    }

    fn apply(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "c" => self.c = whole(value)?,
            "svc" => (self.svc_r, self.svc_w) = (us(value)?, us(value)?),
            "svc_r" => self.svc_r = us(value)?,
            "svc_w" => self.svc_w = us(value)?,
            "jitter" => self.jitter = jitter(value)?,
            "spread" => self.spread = share(value)?,
            "seed" => self.seed = whole(value)?,
            "bw" => (self.bw_r, self.bw_w) = (rate(value)?, rate(value)?),
            "bw_r" => self.bw_r = rate(value)?,
            "bw_w" => self.bw_w = rate(value)?,
            "seek" => self.seek = us(value)?,
            "settle" => self.settle = us(value)?,
            "rpm" => self.rpm = rate(value)?,
            "ahead" => self.ahead = size(value)?,
            "members" => self.members = whole(value)?,
            "stripe" => self.stripe = size(value)?,
            "block" => self.block = size(value)?,
            "block_svc" => self.block_svc = us(value)?,
            "lame" => self.lame = if value == "none" { None } else { Some(whole(value)?) },
            "lame_factor" => self.lame_factor = rate(value)?,
            "wcache" => self.wcache = size(value)?,
            "wcache_svc" => self.wcache_svc = us(value)?,
            "drain" => self.drain = rate(value)?,
            "drain_svc" => self.drain_svc = us(value)?,
            "rcache" => self.rcache = size(value)?,
            "rcache_svc" => self.rcache_svc = us(value)?,
            "rcache_block" => self.rcache_block = size(value)?,
            "flush" => self.flush = us(value)?,
            "stall_every" => self.stall_every = ms(value)?,
            "stall_for" => self.stall_for = ms(value)?,
            "gc_every" => self.gc_every = ms(value)?,
            "gc_for" => self.gc_for = ms(value)?,
            "gc_factor" => self.gc_factor = rate(value)?,
            "iops" => self.iops = rate(value)?,
            "iops_burst" => self.iops_burst = rate(value)?,
            "mbps" => self.mbps = rate(value)?,
            "mbps_burst" => self.mbps_burst = size(value)?,
            "eio" => (self.eio_r, self.eio_w) = (share(value)?, share(value)?),
            "eio_r" => self.eio_r = share(value)?,
            "eio_w" => self.eio_w = share(value)?,
            _ => return Err("there is no such parameter".to_owned()),
        }
        Ok(())
    }

    /// Whether they go together.
    ///
    /// # Errors
    /// The first contradiction, with the parameters' names.
    pub fn check(&self) -> Result<(), String> {
        let rules = [
            ((1..=4096).contains(&self.c), "c is 1 to 4096 servers"),
            ((1..=256).contains(&self.members), "members is 1 to 256"),
            (self.stripe >= 512, "stripe is at least 512 bytes"),
            (
                self.block == 0 || (self.block >= 512 && self.block.is_power_of_two()),
                "block is a power of two from 512 bytes on, or 0",
            ),
            (
                self.block == 0 || self.members == 1 || self.stripe.is_multiple_of(self.block),
                "stripe is a multiple of block",
            ),
            (self.rcache_block >= 512, "rcache_block is at least 512 bytes"),
            (
                self.rcache / self.rcache_block.max(1) < 1 << 26,
                "rcache is more than 2^26 blocks of rcache_block",
            ),
            (!self.has_head() || self.c == 1, "seek and rpm are of a disk with one head: they need c=1"),
            (
                self.rpm == 0.0 || (self.bw_r > 0.0 && self.bw_w > 0.0),
                "rpm needs bw, which says how long a track is",
            ),
            (self.rpm <= 1e6, "rpm is at most 1000000"),
            (
                self.rpm == 0.0 || self.bw_r.min(self.bw_w) * 1e6 * 60.0 / self.rpm >= 4096.0,
                "rpm and bw leave no track",
            ),
            (self.settle <= self.seek, "settle is part of seek: it cannot be longer"),
            (
                self.lame.is_none_or(|lame| lame < self.members),
                "lame is the number of a member: 0 to members-1, or none",
            ),
            (self.lame_factor > 0.0 && self.lame_factor <= 1e6, "lame_factor is above 0, at most 1000000"),
            (self.gc_factor >= 1.0 && self.gc_factor <= 1e6, "gc_factor is 1 to 1000000 times slower"),
            (self.stall_every == 0 || self.stall_every >= MS, "stall_every is at least 1 ms"),
            (self.gc_every == 0 || self.gc_every >= MS, "gc_every is at least 1 ms"),
            (
                self.stall_every == 0 || self.stall_for <= self.stall_every / 100 * 99,
                "stall_for is at most 99 % of stall_every",
            ),
            (self.gc_every == 0 || self.gc_for < self.gc_every, "gc_for is shorter than gc_every"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err((*why).to_owned()))
    }

    /// Whether places matter: a hard disk.
    #[must_use]
    pub fn has_head(&self) -> bool {
        self.seek > 0 || self.rpm > 0.0
    }

    /// One turn of the platter.
    #[must_use]
    pub fn turn_ns(&self) -> u64 {
        if self.rpm > 0.0 { (60e9 / self.rpm) as u64 } else { 0 }
    }

    /// Bandwidth of one server, MB/s; 0: not limited.
    #[must_use]
    pub fn bw(&self, op: Op) -> f64 {
        if op == Op::Read { self.bw_r } else { self.bw_w }
    }
}

fn jitter(value: &str) -> Result<Jitter, String> {
    match value {
        "none" => Ok(Jitter::None),
        "uniform" => Ok(Jitter::Uniform),
        "exponential" => Ok(Jitter::Exponential),
        _ => Err("none, uniform or exponential".to_owned()),
    }
}
