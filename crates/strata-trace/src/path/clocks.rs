//! How the clock of a server's machine stands to that of its client's: what both directions of their messages allow.
//!
//! Bytes are never there before they are sent. So a message from the client says how much the server's clock can be ahead
//! at the most, one from the server how much at the least, at the instant it was seen there. The rate of both clocks is
//! taken as steady within the window, and as at most [`STEEPEST`] apart (more is no clock that is kept). All lines that obey
//! every message are a polygon of (offset, rate), see Zhang, Liu and Xia, "Clock synchronization algorithms for network
//! measurements", INFOCOM 2002. At each instant the offset is the middle of what they allow, and the bound half of it. No
//! line obeys them all where a clock was set, or where the recordings are not of one talk. Pure.

use serde::Serialize;

/// Clocks that are kept by NTP are pulled by no more than this.
const STEEPEST: f64 = 500e-6;
/// Times are rounded to ns at both ends.
const ROUNDED_NS: f64 = 1.0;

/// An instant of the server's clock, and how much it is ahead then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// When, on the server's clock.
    pub at_ns: u64,
    /// By so many ns …
    pub ahead_ns: i128,
    /// … at the most (else at the least).
    pub most: bool,
}

/// What is known of the server's clock.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Of the server's clock; offsets are relative to `offset_ns`, rates to one.
    from_ns: u64,
    until_ns: u64,
    offset_ns: i128,
    /// Corners of all that is allowed: (ns ahead of `offset_ns` at `from_ns`, rate).
    corners: Vec<(f64, f64)>,
    messages: (u64, u64),
}

/// The same in figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClockFigures {
    /// The server's clock is ahead by so much in the middle between the first message and the last.
    pub offset_ns: i64,
    /// Give or take, where it is known least between them.
    pub bound_ns: u64,
    /// It gains so many parts per million, give or take.
    pub rate_ppm: f64,
    /// See above.
    pub rate_bound_ppm: f64,
    /// Messages to the server and from it that say so.
    pub messages: (u64, u64),
}

impl Clock {
    /// From all bounds; `None` where no clock obeys them, or one direction says nothing.
    #[must_use]
    pub fn of(bounds: &[Bound]) -> Option<Self> {
        let from_ns = bounds.iter().map(|b| b.at_ns).min()?;
        let count = |most: bool| bounds.iter().filter(|b| b.most == most).count() as u64;
        let messages = (count(true), count(false));
        if messages.0 == 0 || messages.1 == 0 {
            return None;
        }
        let offset_ns = bounds.iter().filter(|b| b.most).map(|b| b.ahead_ns).min()?;
        let least = bounds.iter().filter(|b| !b.most).map(|b| b.ahead_ns).max()?;
        // What a clock can gain or lose within the window.
        let until_ns = bounds.iter().map(|b| b.at_ns).max()?;
        let most = (until_ns - from_ns) as f64 * STEEPEST + ROUNDED_NS;
        let least = (least - offset_ns) as f64 - most;
        if least > most {
            return None;
        }
        let mut corners = vec![(least, -STEEPEST), (most, -STEEPEST), (most, STEEPEST), (least, STEEPEST)];
        // The tightest first: then most of the others cut nothing off.
        let mut order: Vec<&Bound> = bounds.iter().collect();
        order.sort_by_key(|b| if b.most { b.ahead_ns } else { -b.ahead_ns });
        for bound in order {
            let side = if bound.most { 1.0 } else { -1.0 };
            let (at, ahead) = ((bound.at_ns - from_ns) as f64, (bound.ahead_ns - offset_ns) as f64);
            corners = cut(&corners, |(a, b)| side * (ahead - (a + b * at)) + ROUNDED_NS);
            if corners.is_empty() {
                return None;
            }
        }
        Some(Self { from_ns, until_ns, offset_ns, corners, messages })
    }

    /// The least and the most that the server's clock is ahead, at an instant of its own.
    fn range(&self, at_ns: u64) -> (f64, f64) {
        let at = at_ns as f64 - self.from_ns as f64;
        let ahead = self.corners.iter().map(|(a, b)| a + b * at);
        ahead.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    }

    /// An instant of the server's clock on the client's.
    #[must_use]
    pub fn here(&self, at_ns: u64) -> u64 {
        let (low, high) = self.range(at_ns);
        let here = i128::from(at_ns) - self.offset_ns - f64::midpoint(low, high).round() as i128;
        u64::try_from(here.max(0)).unwrap_or(u64::MAX)
    }

    /// By how much it may be off there.
    #[must_use]
    pub fn bound_ns(&self, at_ns: u64) -> u64 {
        let (low, high) = self.range(at_ns);
        ((high - low) / 2.0).ceil() as u64
    }

    /// From the first message to the last.
    #[must_use]
    pub fn figures(&self) -> ClockFigures {
        let (low, high) = self.range(self.from_ns.midpoint(self.until_ns));
        let rates = self.corners.iter().map(|c| c.1);
        let (slow, fast) =
            rates.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        ClockFigures {
            offset_ns: i64::try_from(self.offset_ns + f64::midpoint(low, high).round() as i128)
                .unwrap_or(i64::MAX),
            // What is allowed is widest at one of the ends.
            bound_ns: self.bound_ns(self.from_ns).max(self.bound_ns(self.until_ns)),
            rate_ppm: f64::midpoint(slow, fast) * 1e6,
            rate_bound_ppm: (fast - slow) / 2.0 * 1e6,
            messages: self.messages,
        }
    }
}

/// What of a polygon lies where `inside` is not negative.
fn cut(corners: &[(f64, f64)], inside: impl Fn((f64, f64)) -> f64) -> Vec<(f64, f64)> {
    let mut found = Vec::with_capacity(corners.len() + 1);
    for (place, &to) in corners.iter().enumerate() {
        let from = corners[(place + corners.len() - 1) % corners.len()];
        let (before, here) = (inside(from), inside(to));
        if (before < 0.0) != (here < 0.0) {
            let part = before / (before - here);
            found.push((from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part));
        }
        if here >= 0.0 {
            found.push(to);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A server whose clock is ahead by `offset` and gains `rate`; messages every `step` that take what is given there and
    /// back.
    fn bounds(offset: i64, rate: f64, trips: &[(u32, u32)], step: u64) -> Vec<Bound> {
        let begin = 1_000_000_000_000u64;
        let there = |here: u64| {
            let gained = ((here - begin) as f64 * rate).round() as i64;
            here.checked_add_signed(offset + gained).unwrap()
        };
        let ahead = |at: u64, here: u64| i128::from(at) - i128::from(here);
        let mut found = Vec::new();
        for (n, (out, back)) in trips.iter().enumerate() {
            let asked = begin + n as u64 * step;
            let arrived = there(asked + u64::from(*out));
            found.push(Bound { at_ns: arrived, ahead_ns: ahead(arrived, asked), most: true });
            let answered = asked + u64::from(*out) + 100_000;
            let at_ns = there(answered);
            let returned = answered + u64::from(*back);
            found.push(Bound { at_ns, ahead_ns: ahead(at_ns, returned), most: false });
        }
        found
    }

    #[test]
    fn a_clock_that_was_set_obeys_nothing() {
        let mut all = bounds(5_000_000, 10e-6, &[(30_000, 40_000); 50], 1_000_000);
        assert!(Clock::of(&all).is_some());
        for bound in all.iter_mut().skip(50) {
            bound.at_ns += 500_000;
            bound.ahead_ns += 500_000;
        }
        assert!(Clock::of(&all).is_none());
        // One direction alone bounds nothing.
        let there: Vec<Bound> = bounds(0, 0.0, &[(1, 1); 3], 1000).into_iter().filter(|b| b.most).collect();
        assert!(Clock::of(&there).is_none() && Clock::of(&[]).is_none());
    }

    #[test]
    fn a_clock_that_is_stated_counts_as_one_more_bound_in_each_direction() {
        let mut all = bounds(5_000_000, 0.0, &[(30_000, 40_000); 50], 1_000_000);
        let at_ns = all[0].at_ns;
        let stated = |offset: i128, bound: i128| {
            [true, false].map(|most| Bound {
                at_ns,
                ahead_ns: if most { offset + bound } else { offset - bound },
                most,
            })
        };
        let alone = Clock::of(&all).unwrap().bound_ns(at_ns);
        assert!(Clock::of(&[all.clone(), stated(4_000_000, 900_000).to_vec()].concat()).is_none());
        all.extend(stated(5_000_000, 2_000));
        let clock = Clock::of(&all).unwrap();
        assert!(alone >= 30_000 && clock.bound_ns(at_ns) <= 2_001);
    }

    proptest! {
        #[test]
        fn the_true_time_lies_within_the_bound_and_no_trip_is_negative(
            offset in -400_000_000_000i64..400_000_000_000, rate in -300e-6f64..300e-6,
            trips in proptest::collection::vec((1_000u32..400_000, 1_000u32..400_000), 2..80),
            step in 200_000u64..20_000_000,
        ) {
            let all = bounds(offset, rate, &trips, step);
            let clock = Clock::of(&all).unwrap();
            for (n, pair) in all.chunks(2).enumerate() {
                let asked = 1_000_000_000_000 + n as u64 * step;
                let arrived = asked + u64::from(trips[n].0);
                let answered = arrived + 100_000;
                let slack = 2 + (rate.abs() * 1e6 * 2.0) as u64;
                for (bound, truly) in [(pair[0], arrived), (pair[1], answered)] {
                    let here = clock.here(bound.at_ns);
                    prop_assert!(here.abs_diff(truly) <= clock.bound_ns(bound.at_ns) + slack);
                }
                prop_assert!(clock.here(pair[0].at_ns) + 2 >= asked);
                prop_assert!(clock.here(pair[1].at_ns) <= answered + u64::from(trips[n].1) + 2);
            }
            let said = clock.figures();
            prop_assert!((said.rate_ppm - rate * 1e6).abs() <= said.rate_bound_ppm + 0.1);
            let least = trips.iter().map(|t| t.0).min().unwrap() + trips.iter().map(|t| t.1).min().unwrap();
            prop_assert!(clock.bound_ns(all[0].at_ns) * 2 <= 2 + u64::from(trips[0].0 + trips[0].1) + 100_000);
            prop_assert!(said.bound_ns > 0 && least > 0);
        }
    }
}
