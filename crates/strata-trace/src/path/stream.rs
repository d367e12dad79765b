//! One direction of a connection whose beginning was seen: which byte went and came when.

use super::calls::Calls;
use super::wire::End;

/// An end, and the recording it was seen in.
pub(super) type Seen<'a> = (&'a Calls, &'a End);

/// What came again, or before its turn, in order: (behind how many bytes, how many), see [`crate::message::Again`].
pub(super) type Again = [(u64, i64)];

/// Places are bytes from the beginning; numbers are those of transfers.
#[derive(Default)]
pub struct Stream {
    /// (where its bytes end, which; nothing where it may have changed places with its neighbour).
    sends: Vec<(u64, Option<usize>)>,
    takes: Vec<(u64, Option<usize>)>,
    /// (how many bytes were there by then, when).
    arrivals: Vec<(u64, u64)>,
}

impl Stream {
    /// From one end to the other.
    pub(super) fn new(from: Option<Seen<'_>>, to: Option<Seen<'_>>, again: &Again) -> Self {
        let sends = from.map_or_else(Vec::new, |(calls, end)| moved(calls, end, true));
        let takes = to.map_or_else(Vec::new, |(calls, end)| moved(calls, end, false));
        let (mut sum, mut come, mut again) = (0u64, 0u64, again.iter().peekable());
        let arrived = to.map_or(&[][..], |(_, end)| end.arrivals.as_slice()).iter().map(|(at, bytes)| {
            come += bytes;
            // The kernel joins segments that wait for it.
            let mut held = 0i64;
            while let Some((_, more)) = again.next_if(|(behind, _)| *behind < come) {
                held = held.saturating_add(*more);
            }
            sum = sum.max(sum.saturating_add(*bytes).saturating_add_signed(held.saturating_neg()));
            (sum, *at)
        });
        let mut arrivals: Vec<(u64, u64)> = arrived.collect();
        // More came than was sent, or was taken: some came twice, and which is not known.
        let all = sends.last().or(takes.last()).map_or(0, |(end, _)| *end);
        if from.is_some() && sum > all {
            arrivals.clear();
        }
        Self { sends, takes, arrivals }
    }

    /// The call that sent the byte at a place.
    pub(super) fn sent(&self, at: u64) -> Option<usize> {
        self.sends.get(self.sends.partition_point(|(end, _)| *end <= at))?.1
    }

    /// The call that took the last byte before a place.
    pub(super) fn taken(&self, end: u64) -> Option<usize> {
        self.takes.get(self.takes.partition_point(|(there, _)| *there < end))?.1
    }

    /// How many bytes were taken in all.
    pub(super) fn all_taken(&self) -> u64 {
        self.takes.last().map_or(0, |(end, _)| *end)
    }

    /// Every call that sent, with when the last of its bytes was there.
    pub(super) fn crossings(&self) -> impl Iterator<Item = (usize, u64)> {
        self.sends.iter().filter_map(|(end, which)| Some(((*which)?, self.arrived(*end)?)))
    }

    /// When all before a place was there.
    pub(super) fn arrived(&self, end: u64) -> Option<u64> {
        Some(self.arrivals.get(self.arrivals.partition_point(|(there, _)| *there < end))?.1)
    }
}

fn moved(calls: &Calls, end: &End, out: bool) -> Vec<(u64, Option<usize>)> {
    let numbers = end.transfers.iter().copied();
    let own: Vec<usize> = numbers.filter(|n| calls.transfers[*n].out == out).collect();
    let mut sum = 0;
    let mut found: Vec<(u64, Option<usize>)> = Vec::with_capacity(own.len());
    for (place, number) in own.iter().enumerate() {
        let transfer = &calls.transfers[*number];
        sum += transfer.bytes;
        let before = place.checked_sub(1).map(|p| &calls.transfers[own[p]]);
        // The kernel tells a call when it is over: of two threads at once, the later may have been told first.
        let crossed = before.is_some_and(|b| b.tid != transfer.tid && transfer.begin_ns < b.at_ns);
        if crossed && let Some(last) = found.last_mut() {
            last.1 = None;
        }
        found.push((sum, (!crossed).then_some(*number)));
    }
    found
}
