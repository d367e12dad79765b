//! One direction of a connection whose beginning was seen: which byte went and came when.

use super::calls::Calls;
use super::wire::End;

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
    pub(super) fn new(calls: &Calls, from: Option<&End>, to: Option<&End>) -> Self {
        let sends = moved(calls, from, true);
        let takes = moved(calls, to, false);
        let mut sum = 0;
        let arrived = to.map_or(&[][..], |end| end.arrivals.as_slice()).iter().map(|(at, bytes)| {
            sum += bytes;
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

    /// When all before a place was there.
    pub(super) fn arrived(&self, end: u64) -> Option<u64> {
        Some(self.arrivals.get(self.arrivals.partition_point(|(there, _)| *there < end))?.1)
    }
}

fn moved(calls: &Calls, end: Option<&End>, out: bool) -> Vec<(u64, Option<usize>)> {
    let numbers = end.map_or(&[][..], |e| e.transfers.as_slice()).iter().copied();
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
