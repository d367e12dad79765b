//! Reordering: which I/Os of a sequential stream came after one that lies behind them, and by how many they were late.
//!
//! The definitions are those of RFC 4737 (reordered: before the highest place reached so far; extent: how many came since
//! the first one that lies behind), with the sector for the sequence number. A network has one stream and every number once;
//! a device has several streams and random I/O beside them. So an I/O counts as reordered only where it fills a hole:
//! a piece that a stream has jumped over, at most [`HORIZON_IOS`] I/Os ahead and at most as many I/Os ago. Streams that are
//! only interleaved have no holes. Random I/O may fall into a stream by chance, but leaves most of what lies between
//! untouched: what is late counts only in a stream of at least [`ESTABLISHED`] I/Os that has touched more than three in four
//! of the sectors between its ends, asks for few of them again, and of which one I/O in 32 or more follows exactly.

/// How many I/Os ahead a stream may jump and still be the same, and how late an I/O of it may be.
pub const HORIZON_IOS: u64 = 128;
/// And at least so many sectors ahead (256 KiB).
const HORIZON_SECTORS: u64 = 512;
/// I/Os that make a stream.
pub const ESTABLISHED: u64 = 16;
const STREAMS: usize = 16;
const HOLES: usize = 2 * HORIZON_IOS as usize;
/// Late I/Os of what is not a stream yet; one that needs more of them will not be one.
const PENDING: usize = 1024;
/// From here on a stream forgets its beginning by halves.
const LONG: u64 = 4096;

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
    /// I/Os that began exactly where the stream had got to.
    exact: u64,
    used: u64,
    /// Sectors of its I/Os, and those from its first to its last.
    touched: u64,
    span: u64,
    said: bool,
    /// Extents from before it was established.
    pending: Vec<u64>,
}

impl Stream {
    fn at(start: u64, end: u64, used: u64) -> Self {
        let length = end - start;
        Self {
            next: end,
            holes: Vec::new(),
            members: 1,
            again: 0,
            exact: 0,
            used,
            touched: length,
            span: length,
            said: false,
            pending: Vec::new(),
        }
    }

    fn established(&self) -> bool {
        self.members >= ESTABLISHED
            && self.members > 3 * self.again
            && 4 * self.touched > 3 * self.span
            && 32 * self.exact >= self.members
    }

    fn advance(&mut self, end: u64) {
        self.span += end.saturating_sub(self.next);
        self.next = self.next.max(end);
    }

    /// Fill what `start..end` covers of the hole it begins in; the I/Os that came since the hole was made.
    fn fill(&mut self, start: u64, end: u64) -> Option<u64> {
        let index = self.holes.iter().position(|h| h.start <= start && start < h.end)?;
        let made = self.holes[index].made;
        if self.members - made >= HORIZON_IOS {
            // Too late to be only late.
            self.holes.retain(|h| self.members - h.made < HORIZON_IOS);
            return None;
        }
        let hole = self.holes.remove(index);
        if start > hole.start {
            self.holes.push(Hole { end: start, ..hole });
        }
        if end < hole.end {
            self.holes.push(Hole { start: end, ..hole });
        }
        self.advance(end);
        Some(self.members - made)
    }

    fn jump(&mut self, start: u64, end: u64) {
        if self.holes.len() >= HOLES {
            self.holes.retain(|h| self.members - h.made < HORIZON_IOS);
        }
        self.holes.push(Hole { start: self.next, end: start, made: self.members });
        self.advance(end);
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
        let length = end - start;
        let horizon = HORIZON_IOS.saturating_mul(length).max(HORIZON_SECTORS);
        if let Some(index) = self.live.iter().position(|s| s.next == start) {
            self.live[index].advance(end);
            self.live[index].exact += 1;
            self.joined(index, length, None);
            return;
        }
        for index in 0..self.live.len() {
            if let Some(extent) = self.live[index].fill(start, end) {
                self.joined(index, length, Some(extent));
                return;
            }
        }
        let ahead = |s: &Stream| start.checked_sub(s.next).filter(|gap| *gap <= horizon);
        let near = (0..self.live.len()).filter_map(|i| ahead(&self.live[i]).map(|gap| (gap, i))).min();
        if let Some((_, index)) = near {
            self.live[index].jump(start, end);
            self.joined(index, length, None);
            return;
        }
        // Where a stream has been: asked for again, which a stream that is only late never does.
        for stream in self.live.iter_mut().filter(|s| start < s.next && s.next - start <= horizon) {
            stream.again += 1;
        }
        self.begin(start, end);
    }

    fn joined(&mut self, index: usize, length: u64, extent: Option<u64>) {
        let stream = &mut self.live[index];
        stream.used = self.clock;
        stream.members += 1;
        stream.touched += length;
        if stream.touched > LONG * length && stream.members > LONG {
            stream.touched /= 2;
            stream.span /= 2;
        }
        stream.pending.extend(extent);
        if !stream.established() {
            if stream.pending.len() > PENDING {
                stream.pending.clear();
            }
            return;
        }
        if !stream.said {
            stream.said = true;
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

    fn begin(&mut self, start: u64, end: u64) {
        let fresh = Stream::at(start, end, self.clock);
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
