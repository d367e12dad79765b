//! What can be set, by name: `key=value` words. Times are µs (windows: ms), rates MB/s of 10⁶ bytes, sizes bytes.

use super::Op;
use crate::words::{NS_PER_MS, NS_PER_US, each, ms, rate, share, size, us, whole};

const MS: u64 = 1_000_000;
/// Words for [`Jitter`], in its order.
const JITTERS: [&str; 3] = ["none", "uniform", "exponential"];

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

/// Makes [`Params`] of rows: name, type, value where no word sets it, and the kind of its words.
macro_rules! params {
    ($($name:ident: $type:ty = $plain:expr, $kind:ident;)*) => {
        /// Parameters of the model. Times in it are ns. The page of the lab's parts says what each does.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub struct Params {
            $(pub $name: $type,)*
        }

        impl Default for Params {
            fn default() -> Self {
                Self { $($name: $plain,)* }
            }
        }

        impl Params {
            fn pairs(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($name), params!(@word $kind self.$name)),)*]
            }

            fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
                match key {
                    $(stringify!($name) => self.$name = $kind(value)?,)*
                    _ => return Err("there is no such parameter".to_owned()),
                }
                Ok(())
            }
        }
    };
    (@word us $ns:expr) => { ($ns as f64 / NS_PER_US).to_string() };
    (@word ms $ns:expr) => { ($ns as f64 / NS_PER_MS).to_string() };
    (@word jitter $jitter:expr) => { JITTERS[$jitter as usize].to_owned() };
    (@word lame $lame:expr) => { $lame.map_or("none".to_owned(), |lame| lame.to_string()) };
    (@word $kind:ident $value:expr) => { $value.to_string() };
}

params! {
    c: u32 = 1, whole;
    svc_r: u64 = 0, us;
    svc_w: u64 = 0, us;
    jitter: Jitter = Jitter::None, jitter;
    spread: f64 = 0.5, share;
    seed: u64 = 1, whole;
    bw_r: f64 = 0.0, rate;
    bw_w: f64 = 0.0, rate;
    seek: u64 = 0, us;
    settle: u64 = 0, us;
    rpm: f64 = 0.0, rate;
    ahead: u64 = 0, size;
    members: u32 = 1, whole;
    stripe: u64 = 64 << 10, size;
    block: u64 = 0, size;
    block_svc: u64 = 0, us;
    lame: Option<u32> = None, lame;
    lame_factor: f64 = 10.0, rate;
    wcache: u64 = 0, size;
    wcache_svc: u64 = 20_000, us;
    drain: f64 = 0.0, rate;
    drain_svc: u64 = 0, us;
    rcache: u64 = 0, size;
    rcache_svc: u64 = 20_000, us;
    rcache_block: u64 = 4096, size;
    flush: u64 = 0, us;
    stall_every: u64 = 0, ms;
    stall_for: u64 = 0, ms;
    gc_every: u64 = 0, ms;
    gc_for: u64 = 0, ms;
    gc_factor: f64 = 10.0, rate;
    iops: f64 = 0.0, rate;
    iops_burst: f64 = 0.0, rate;
    mbps: f64 = 0.0, rate;
    mbps_burst: u64 = 0, size;
    eio_r: f64 = 0.0, share;
    eio_w: f64 = 0.0, share;
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

    fn apply(&mut self, key: &str, value: &str) -> Result<(), String> {
        if !matches!(key, "svc" | "bw" | "eio") {
            return self.set(key, value);
        }
        // Of both directions.
        self.set(&format!("{key}_r"), value)?;
        self.set(&format!("{key}_w"), value)
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
    let named = [Jitter::None, Jitter::Uniform, Jitter::Exponential].into_iter().zip(JITTERS);
    let found = named.into_iter().find(|(_, word)| *word == value).map(|(jitter, _)| jitter);
    found.ok_or_else(|| "none, uniform or exponential".to_owned())
}

fn lame(value: &str) -> Result<Option<u32>, String> {
    if value == "none" { Ok(None) } else { whole(value).map(Some) }
}
