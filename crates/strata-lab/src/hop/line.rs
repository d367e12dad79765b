//! What becomes of a frame in one direction: pure, on a clock that the caller reads.

use crate::words::{NS_PER_US, each, size, us, whole};
use serde::Serialize;
use strata_pattern::Rng;

const PPM: u64 = 1_000_000;

/// One direction. Times are ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectionParams {
    /// How much later a frame goes out than it came in.
    pub delay: u64,
    /// Up to so much more or less, equally likely; frames keep their order.
    pub jitter: u64,
    /// Of a million frames so many are lost.
    pub loss: u32,
    /// Of a million frames so many go out at once, before those that wait.
    pub reorder: u32,
    /// Bytes that wait at most; a frame that finds more waiting is dropped.
    pub queue: u64,
}

impl Default for DirectionParams {
    fn default() -> Self {
        Self { delay: 0, jitter: 0, loss: 0, reorder: 0, queue: 16 << 20 }
    }
}

/// Both directions: from a to b, and back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// a to b, b to a.
    pub directions: [DirectionParams; 2],
    /// What chance is drawn from.
    pub seed: u64,
}

impl Params {
    /// These, with the words of `text` applied in order: `delay=1000` is for both directions, `delay_ab` and `delay_ba`
    /// are for one.
    ///
    /// # Errors
    /// The first word that is not `key=value`, not known, or not a value of its kind.
    pub fn with(&self, text: &str) -> Result<Self, String> {
        let mut changed = self.clone();
        each(text, |key, value| changed.apply(key, value))?;
        if let Some(direction) =
            changed.directions.iter().find(|direction| direction.jitter > direction.delay)
        {
            return Err(format!(
                "jitter of {} ns is more than the delay of {} ns",
                direction.jitter, direction.delay
            ));
        }
        Ok(changed)
    }

    fn apply(&mut self, key: &str, value: &str) -> Result<(), String> {
        if key == "seed" {
            self.seed = whole(value)?;
            return Ok(());
        }
        let (key, which) = match key.rsplit_once('_') {
            Some((key, "ab")) => (key, 0..1),
            Some((key, "ba")) => (key, 1..2),
            _ => (key, 0..2),
        };
        for direction in &mut self.directions[which] {
            match key {
                "delay" => direction.delay = us(value)?,
                "jitter" => direction.jitter = us(value)?,
                "loss" => direction.loss = millionths(value)?,
                "reorder" => direction.reorder = millionths(value)?,
                "queue" => direction.queue = size(value)?,
                _ => return Err("there is no such parameter".to_owned()),
            }
        }
        Ok(())
    }

    /// All of them as words.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = vec![format!("seed={}", self.seed)];
        for (direction, name) in self.directions.iter().zip(["ab", "ba"]) {
            let (delay, jitter) = (direction.delay as f64 / NS_PER_US, direction.jitter as f64 / NS_PER_US);
            words.push(format!(
                "delay_{name}={delay} jitter_{name}={jitter} loss_{name}={} reorder_{name}={} queue_{name}={}",
                direction.loss, direction.reorder, direction.queue
            ));
        }
        words.join(" ")
    }
}

fn millionths(value: &str) -> Result<u32, String> {
    whole::<u32>(value).and_then(|ppm| {
        if u64::from(ppm) <= PPM { Ok(ppm) } else { Err("more than 1000000 of a million".to_owned()) }
    })
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameAction {
    /// It goes out then.
    Due(u64),
    /// Lost on the direction.
    Lost,
    /// Dropped, because too much waits.
    Full,
}

/// What became of the frames of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Frames that came in.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Dropped at a full queue.
    pub full: u64,
    /// Sent before others that had come earlier.
    pub overtook: u64,
    /// Bytes that wait now.
    pub waiting_bytes: u64,
    /// The most that ever waited.
    pub waiting_max_bytes: u64,
}

/// One direction of the hop.
#[derive(Debug)]
pub struct Line {
    direction: DirectionParams,
    rng: Rng,
    /// When the last frame in order goes out.
    last_ns: u64,
    /// What was counted.
    pub counts: Counts,
}

impl Line {
    /// Nothing waits; `stream` tells the directions' chances apart.
    #[must_use]
    pub fn new(direction: DirectionParams, seed: u64, stream: u64) -> Self {
        Self { direction, rng: Rng::new(seed, stream), last_ns: 0, counts: Counts::default() }
    }

    /// Another direction of treating frames from now on; those that wait keep their time and their order.
    pub fn set(&mut self, direction: DirectionParams) {
        self.direction = direction;
    }

    /// Chance begins anew.
    pub fn reseed(&mut self, seed: u64, stream: u64) {
        self.rng = Rng::new(seed, stream);
    }

    /// A frame of `len` bytes comes in at `now_ns`.
    pub fn admit(&mut self, now_ns: u64, len: u64) -> FrameAction {
        self.counts.frames += 1;
        self.counts.bytes += len;
        if self.rng.below(PPM) < u64::from(self.direction.loss) {
            self.counts.lost += 1;
            return FrameAction::Lost;
        }
        let waiting = self.counts.waiting_bytes + len;
        if waiting > self.direction.queue.max(len) {
            self.counts.full += 1;
            return FrameAction::Full;
        }
        self.counts.waiting_bytes = waiting;
        self.counts.waiting_max_bytes = self.counts.waiting_max_bytes.max(waiting);
        if waiting > len && self.rng.below(PPM) < u64::from(self.direction.reorder) {
            self.counts.overtook += 1;
            return FrameAction::Due(now_ns);
        }
        let least = self.direction.delay - self.direction.jitter;
        let due = now_ns + least + self.rng.below(2 * self.direction.jitter + 1);
        self.last_ns = due.max(self.last_ns);
        FrameAction::Due(self.last_ns)
    }

    /// A frame of `len` bytes has gone out.
    pub fn sent(&mut self, len: u64) {
        self.counts.waiting_bytes -= len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &str) -> Line {
        let params = Params::default().with(words).unwrap();
        Line::new(params.directions[0].clone(), params.seed, 0)
    }

    #[test]
    fn a_frame_goes_out_one_delay_later() {
        let mut line = line("delay=1000");
        assert_eq!(line.admit(5, 60), FrameAction::Due(1_000_005));
        assert_eq!(line.admit(7, 60), FrameAction::Due(1_000_007));
    }

    #[test]
    fn jitter_spreads_and_keeps_the_order() {
        let mut line = line("delay=1000 jitter=500 queue=1GiB");
        let mut dues = Vec::new();
        for i in 0..1000 {
            let FrameAction::Due(due) = line.admit(i * 10_000, 60) else { panic!("dropped") };
            assert!((i * 10_000 + 500_000..=i * 10_000 + 1_500_000).contains(&due));
            dues.push(due);
        }
        assert!(dues.is_sorted());
    }

    #[test]
    fn the_share_that_is_lost_is_the_one_asked_for() {
        let mut line = line("loss=10000 queue=1GiB");
        for i in 0..100_000 {
            line.admit(i, 60);
        }
        // Binomial: 1000 expected, standard deviation 31; four of them.
        assert!((874..1126).contains(&line.counts.lost), "{:?}", line.counts);
    }

    #[test]
    fn all_is_lost_at_a_million_and_nothing_at_none() {
        let mut all = line("loss=1000000");
        let mut none = line("loss=0");
        for i in 0..1000 {
            assert_eq!(all.admit(i, 60), FrameAction::Lost);
            assert_ne!(none.admit(i, 60), FrameAction::Lost);
        }
    }

    #[test]
    fn a_full_queue_drops_and_room_comes_back() {
        let mut line = line("delay=1000 queue=3000");
        assert_eq!(
            (line.admit(0, 1500), line.admit(0, 1500)),
            (FrameAction::Due(1_000_000), FrameAction::Due(1_000_000))
        );
        assert_eq!(line.admit(0, 1500), FrameAction::Full);
        line.sent(1500);
        assert_ne!(line.admit(0, 1500), FrameAction::Full);
        assert_eq!(
            (line.counts.full, line.counts.waiting_bytes, line.counts.waiting_max_bytes),
            (1, 3000, 3000)
        );
    }

    #[test]
    fn a_frame_larger_than_the_queue_passes_alone() {
        let mut line = line("queue=1000");
        assert_ne!(line.admit(0, 64_000), FrameAction::Full);
        assert_eq!(line.admit(0, 60), FrameAction::Full);
    }

    #[test]
    fn overtaking_needs_somebody_to_overtake() {
        let mut line = line("delay=1000 reorder=1000000");
        assert_eq!(line.admit(0, 60), FrameAction::Due(1_000_000));
        assert_eq!(line.admit(10, 60), FrameAction::Due(10));
        assert_eq!(line.counts.overtook, 1);
    }

    #[test]
    fn words_name_both_directions_or_one() {
        let params = Params::default().with("delay=1000 loss_ab=5 delay_ba=20").unwrap();
        assert_eq!((params.directions[0].delay, params.directions[1].delay), (1_000_000, 20_000));
        assert_eq!((params.directions[0].loss, params.directions[1].loss), (5, 0));
        assert_eq!(Params::default().with(&params.words()).unwrap(), params);
        for wrong in ["delay", "delay=x", "delay_bb=1", "loss=1000001", "speed=1", "jitter=5"] {
            assert!(Params::default().with(wrong).is_err(), "{wrong}");
        }
    }
}
