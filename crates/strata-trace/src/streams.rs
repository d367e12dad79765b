//! Reordering: which I/Os of a sequential stream came after one that lies behind them, and by how many they were late.
//!
//! The definitions are those of RFC 4737 (reordered: before the highest place reached so far; extent: how many came since
//! the first one that lies behind), with the sector for the sequence number. A network has one stream and every number once;
//! a device has several streams and random I/O beside them. So an I/O counts as reordered only where it fills a hole:
//! a piece that a stream has jumped over, at most [`HORIZON_IOS`] I/Os ahead. Streams that are only interleaved have no
//! holes, and neither has random I/O: what lands in a stream by chance counts only once the stream is one
//! ([`ESTABLISHED`] I/Os, of which more than three in four were new to it).

/// How many I/Os ahead a stream may jump and still be the same.
pub const HORIZON_IOS: u64 = 64;
/// And at least so many sectors (256 KiB).
const HORIZON_SECTORS: u64 = 512;
/// I/Os that make a stream.
pub const ESTABLISHED: u64 = 8;
const STREAMS: usize = 16;
const HOLES: usize = 128;

#[derive(Clone, Debug)]
struct Hole {
    start: u64,
    end: u64,
    /// The stream's count at the I/O that jumped over it.
    made: u64,
}

#[derive(Clone, Debug)]
struct Stream {
    next: u64,
    holes: Vec<Hole>,
    members: u64,
    again: u64,
    used: u64,
    /// Extents from before it was established.
    pending: Vec<u64>,
}

impl Stream {
    fn at(end: u64, used: u64) -> Self {
        Self { next: end, holes: Vec::new(), members: 1, again: 0, used, pending: Vec::new() }
    }

    fn established(&self) -> bool {
        self.members >= ESTABLISHED && self.members > 3 * self.again
    }

    /// Fill what `start..end` covers of the hole it begins in; the I/Os that came since the hole was made.
    fn fill(&mut self, start: u64, end: u64) -> Option<u64> {
        let index = self.holes.iter().position(|h| h.start <= start && start < h.end)?;
        let hole = self.holes.remove(index);
        if start > hole.start {
            self.holes.push(Hole { end: start, ..hole });
        }
        if end < hole.end {
            self.holes.push(Hole { start: end, ..hole });
        }
        self.next = self.next.max(end);
        Some(self.members - hole.made)
    }
}

/// The streams of one direction at one device.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    live: Vec<Stream>,
    clock: u64,
    established: u64,
    extents: Vec<u64>,
    reordered: u64,
}

impl Streams {
    /// The next I/O, in the order of issue: sectors `start..end`.
    pub fn feed(&mut self, start: u64, end: u64) {
        self.clock += 1;
        let horizon = (HORIZON_IOS * (end - start)).max(HORIZON_SECTORS);
        if let Some(index) = self.live.iter().position(|s| s.next == start) {
            self.live[index].next = end;
            self.joined(index, None);
            return;
        }
        for index in 0..self.live.len() {
            if let Some(extent) = self.live[index].fill(start, end) {
                self.joined(index, Some(extent));
                return;
            }
        }
        let ahead = |s: &Stream| start.checked_sub(s.next).filter(|gap| *gap <= horizon);
        if let Some(index) = (0..self.live.len())
            .filter(|&i| ahead(&self.live[i]).is_some())
            .min_by_key(|&i| ahead(&self.live[i]))
        {
            let stream = &mut self.live[index];
            if stream.holes.len() == HOLES {
                stream.holes.remove(0);
            }
            stream.holes.push(Hole { start: stream.next, end: start, made: stream.members });
            stream.next = end;
            self.joined(index, None);
            return;
        }
        // Where the stream has been: asked for again, which a stream that is only late never does.
        if let Some(stream) = self.live.iter_mut().find(|s| start < s.next && s.next - start <= horizon) {
            stream.again += 1;
        }
        self.begin(end);
    }

    fn joined(&mut self, index: usize, extent: Option<u64>) {
        let stream = &mut self.live[index];
        stream.used = self.clock;
        stream.members += 1;
        stream.pending.extend(extent);
        if !stream.established() {
            return;
        }
        if stream.members == ESTABLISHED {
            self.established += 1;
        }
        for extent in stream.pending.drain(..) {
            self.reordered += 1;
            let slot = extent as usize;
            if self.extents.len() <= slot {
                self.extents.resize(slot + 1, 0);
            }
            self.extents[slot] += 1;
        }
    }

    fn begin(&mut self, end: u64) {
        let fresh = Stream::at(end, self.clock);
        if self.live.len() < STREAMS {
            self.live.push(fresh);
        } else if let Some(oldest) = self.live.iter_mut().min_by_key(|s| s.used) {
            *oldest = fresh;
        }
    }

    /// I/Os that came late.
    #[must_use]
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Streams that were long enough to be called so.
    #[must_use]
    pub fn established(&self) -> u64 {
        self.established
    }

    /// (extent in I/Os, how many reordered I/Os had it).
    #[must_use]
    pub fn extents(&self) -> Vec<(u64, u64)> {
        let met = self.extents.iter().enumerate().filter(|(_, n)| **n > 0);
        met.map(|(extent, &n)| (extent as u64, n)).collect()
    }
}
