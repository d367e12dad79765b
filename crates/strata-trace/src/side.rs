//! What is counted of one direction: lengths, bytes, order and times.

use std::collections::BTreeMap;

use base64::Engine as _;
use serde::Serialize;
use strata_hist::Histogram;

use crate::SECTOR;
use crate::order::{Order, OrderFigures};

/// Lengths that are told apart; what is beyond is counted as `others`.
const LENGTHS: usize = 256;

/// I/Os as they came, in one direction: at the entrance of the block layer, or at the device.
#[derive(Clone, Debug, Default)]
pub struct Passing {
    ios: u64,
    bytes: u64,
    lengths: BTreeMap<u32, u64>,
    others: u64,
    first: Option<u64>,
    end: u64,
    order: Order,
}

/// [`Passing`] in figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PassingFigures {
    /// I/Os.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// (bytes of an I/O, how many), ascending.
    pub lengths: Vec<(u64, u64)>,
    /// I/Os of still other lengths.
    pub other_lengths: u64,
    /// From the first byte that was touched to the end of the last; absent without data.
    pub range: Option<(u64, u64)>,
    /// Their order.
    pub order: OrderFigures,
}

impl Passing {
    /// The next I/O.
    pub fn feed(&mut self, sector: u64, sectors: u32) {
        self.ios += 1;
        self.bytes += u64::from(sectors) * SECTOR;
        if sectors == 0 {
            return;
        }
        if self.lengths.len() < LENGTHS || self.lengths.contains_key(&sectors) {
            *self.lengths.entry(sectors).or_default() += 1;
        } else {
            self.others += 1;
        }
        let end = sector.saturating_add(u64::from(sectors));
        self.first = Some(self.first.map_or(sector, |first| first.min(sector)));
        self.end = self.end.max(end);
        self.order.feed(sector, end);
    }

    /// In figures.
    #[must_use]
    pub fn figures(&self) -> PassingFigures {
        PassingFigures {
            ios: self.ios,
            bytes: self.bytes,
            lengths: self.lengths.iter().map(|(&sectors, &n)| (u64::from(sectors) * SECTOR, n)).collect(),
            other_lengths: self.others,
            range: self.first.map(|first| (first.saturating_mul(SECTOR), self.end.saturating_mul(SECTOR))),
            order: self.order.figures(),
        }
    }
}

/// A distribution of times in ns: an HdrHistogram V2 payload in base64 with what is read from it first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Their exact mean.
    pub mean_ns: f64,
    /// Half of them are at or below this.
    pub p50_ns: u64,
    /// 99 in 100 are.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// All of them.
    pub histogram: String,
}

/// A histogram in figures; `None` when it is empty.
#[must_use]
pub fn times(histogram: &Histogram) -> Option<Times> {
    let count = histogram.count();
    Some(Times {
        count,
        mean_ns: histogram.sum_ns() as f64 / count as f64,
        p50_ns: histogram.quantile_ns(0.5)?,
        p99_ns: histogram.quantile_ns(0.99)?,
        max_ns: histogram.max_ns()?,
        histogram: base64::engine::general_purpose::STANDARD.encode(histogram.encode()),
    })
}
