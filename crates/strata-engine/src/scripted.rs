//! A clock that stands still until told, and a queue that follows a script: for tests of the timing model.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use strata_io::{Completion, Io, Queue};
use strata_pattern::{Access, BlockMap, Mix, Order, Pattern, Segment};

use crate::clock::Clock;
use crate::control::Control;
use crate::load::{Ended, Load, Marks, Plan, Tally};
use crate::merge::Merger;
use crate::pace::Pace;
use crate::record::{Part, Recorder, Sink};
use crate::slot_table::{SlotTable, Stuck};

pub const BLOCK: u32 = 4096;

#[derive(Clone, Default)]
pub struct FakeClock(Rc<Cell<u64>>);

impl FakeClock {
    pub fn pass(&self, ns: u64) {
        self.0.set(self.0.get() + ns);
    }
    fn pass_until(&self, at_ns: u64) {
        self.0.set(self.0.get().max(at_ns));
    }
}

impl Clock for FakeClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
}

/// What becomes of one I/O: how long it takes (`None`: for ever) and what it returns.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedResult {
    pub latency_ns: Option<u64>,
    pub result: i32,
}

pub fn takes(latency_ns: u64) -> ScriptedResult {
    ScriptedResult { latency_ns: Some(latency_ns), result: BLOCK as i32 }
}

pub type Script<'a> = Box<dyn FnMut(u64, u64) -> io::Result<ScriptedResult> + 'a>;

/// I/O number n, handed over at t, meets `script(n, t)`. Every submit call costs `submit_ns`.
pub struct Scripted<'a> {
    pub clock: FakeClock,
    pub submit_ns: u64,
    /// From this instant on the transport is gone.
    pub lost_at_ns: u64,
    script: Script<'a>,
    pushed: Vec<u32>,
    /// The pattern once more: where the next I/O has to be.
    drawn: Access,
    number: u64,
    /// (instant it is done, completion)
    in_flight: Vec<(u64, Completion)>,
    buffer: Vec<u8>,
}

impl<'a> Scripted<'a> {
    pub fn new(
        clock: &FakeClock,
        submit_ns: u64,
        script: impl FnMut(u64, u64) -> io::Result<ScriptedResult> + 'a,
    ) -> Self {
        let (script, clock) = (Box::new(script) as Script<'a>, clock.clone());
        Self {
            clock,
            submit_ns,
            lost_at_ns: u64::MAX,
            script,
            pushed: vec![],
            // Offsets do not depend on the mix.
            drawn: access(Mix::Read),
            number: 0,
            in_flight: vec![],
            buffer: vec![0; BLOCK as usize],
        }
    }
}

impl Queue for Scripted<'_> {
    fn buffer(&mut self, _slot: u32) -> &mut [u8] {
        &mut self.buffer
    }

    fn push(&mut self, slot: u32, io: Io) {
        assert!(io.offset().is_multiple_of(u64::from(BLOCK)) && io.len() == BLOCK);
        let busy = self.in_flight.iter().any(|(_, c)| c.slot == slot) || self.pushed.contains(&slot);
        assert!(!busy, "slot {slot} is in flight");
        assert_eq!(
            io.offset(),
            self.drawn.draw().offset(),
            "I/Os are handed over in the order of the pattern"
        );
        self.pushed.push(slot);
    }

    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        self.clock.pass(self.submit_ns);
        let now = self.clock.now_ns();
        if now >= self.lost_at_ns {
            return Err(io::Error::from_raw_os_error(libc::ECONNRESET));
        }
        for slot in std::mem::take(&mut self.pushed) {
            let scripted = (self.script)(self.number, now)?;
            self.number += 1;
            let done = scripted.latency_ns.map_or(u64::MAX, |latency| now + latency);
            self.in_flight.push((done, Completion { slot, result: scripted.result }));
        }
        if wait > 0 {
            let mut done: Vec<u64> = self.in_flight.iter().map(|&(done, _)| done).collect();
            done.sort_unstable();
            let ready = done.get(wait as usize - 1).copied().unwrap_or(u64::MAX);
            let limit = timeout.map_or(u64::MAX, |t| now.saturating_add(t.as_nanos() as u64));
            assert!(ready.min(limit) < u64::MAX, "this wait would never end");
            self.clock.pass_until(ready.min(limit));
        }
        Ok(())
    }

    fn reap(&mut self, mut f: impl FnMut(Completion)) -> usize {
        let now = self.clock.now_ns();
        let before = self.in_flight.len();
        self.in_flight.sort_by_key(|&(done, _)| done);
        self.in_flight.retain(|&(done, completion)| {
            if done <= now {
                f(completion);
            }
            done > now
        });
        before - self.in_flight.len()
    }
}

/// A queue whose submit call does the I/O: number n, begun at t, takes and returns what `script(n, t)` says.
pub struct InPlace {
    pub clock: FakeClock,
    pub script: fn(u64, u64) -> (u64, i32),
    number: Rc<Cell<u64>>,
    buffer: Vec<u8>,
}

impl InPlace {
    pub fn new(clock: &FakeClock, script: fn(u64, u64) -> (u64, i32)) -> Self {
        Self { clock: clock.clone(), script, number: Rc::default(), buffer: vec![0; BLOCK as usize] }
    }
}

impl Queue for InPlace {
    const IN_PLACE: bool = true;

    fn buffer(&mut self, _slot: u32) -> &mut [u8] {
        &mut self.buffer
    }

    fn push(&mut self, _slot: u32, _io: Io) {
        unreachable!("the loop does these I/Os itself");
    }

    fn submit(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        let timeout = timeout.expect("nothing is in flight that could end the wait");
        self.clock.pass(if wait > 0 { timeout.as_nanos() as u64 } else { 0 });
        Ok(())
    }

    fn reap(&mut self, _f: impl FnMut(Completion)) -> usize {
        0
    }

    unsafe fn prepare_transfers<const READS: bool>(
        &mut self,
        _alike: Io,
    ) -> impl Fn(u64) -> i32 + use<READS> {
        let (clock, script, number) = (self.clock.clone(), self.script, Rc::clone(&self.number));
        move |_offset| {
            let n = number.replace(number.get() + 1);
            let (takes_ns, result) = script(n, clock.now_ns());
            clock.pass(takes_ns);
            result
        }
    }
}

#[derive(Clone, Default)]
pub struct Parts(pub Rc<RefCell<Vec<Part>>>);

impl Sink for Parts {
    fn part(&mut self, part: Part) {
        self.0.borrow_mut().push(part);
    }
}

pub struct NoMarks;

impl Marks for NoMarks {
    fn measuring(&mut self) {}
    fn ended(&mut self) {}
}

/// How a scripted run is set.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub depth: u32,
    pub batch: u32,
    pub mix: Mix,
    pub ramp_ns: u64,
    pub runtime_ns: u64,
    pub interval_ns: u64,
    pub fill_ns: u64,
}

pub const SETTING: Setting = Setting {
    depth: 1,
    batch: 8,
    mix: Mix::Read,
    ramp_ns: 0,
    runtime_ns: 1_000_000_000,
    interval_ns: 100_000_000,
    fill_ns: 0,
};

/// What a scripted run gave.
pub struct Played {
    pub tally: Tally,
    pub stuck: Vec<Stuck>,
    pub outcome: io::Result<()>,
    pub recorder: Recorder<Parts>,
    pub merger: Merger,
    pub intervals: Vec<crate::outcome::Interval>,
    pub control: Rc<Control>,
}

fn access(mix: Mix) -> Access {
    let whole = Segment { start: 0, length: 1 << 20, target: 0 };
    let map = BlockMap::new(&[whole], u64::from(BLOCK)).expect("blocks");
    Pattern::new(map, Order::Random, mix, 1).access(0, 1).expect("blocks")
}

/// Run the loop on a script. The run starts at instant 0 of the fake clock plus whatever has passed on it.
pub fn play<P: Pace>(setting: Setting, pace: P, control: &Rc<Control>, queue: Scripted<'_>) -> Played {
    let clock = queue.clock.clone();
    play_on(setting, pace, control, queue, clock)
}

/// The same on any queue that lets `clock` pass.
pub fn play_on<P: Pace, Q: Queue>(
    setting: Setting,
    pace: P,
    control: &Rc<Control>,
    mut queue: Q,
    clock: FakeClock,
) -> Played {
    let start_ns = clock.now_ns();
    control.open_gate(start_ns, start_ns + setting.ramp_ns + setting.runtime_ns);
    let access = access(setting.mix);
    let slot_table = SlotTable::new(setting.depth);
    let parts = Parts::default();
    let mut recorder = Recorder::new(0, start_ns + setting.ramp_ns, setting.interval_ns, parts.clone());
    let plan = Plan {
        depth: setting.depth,
        batch: setting.batch,
        start_ns,
        stop_on_error: false,
        drain_ns: 30_000_000_000,
    };
    let filling = clock.clone();
    let Ended { tally, stuck, transport } = Load {
        queue: &mut queue,
        clock,
        pace,
        access,
        fill_buffer: |_: &mut [u8]| filling.pass(setting.fill_ns),
        slot_table: &slot_table,
        recorder: &mut recorder,
        control,
        marks: NoMarks,
        plan,
    }
    .run();
    assert_eq!(tally.issued, tally.completed + tally.errored + tally.stuck);
    let mut merger = Merger::new(1, setting.interval_ns);
    parts.0.borrow().iter().for_each(|part| merger.add(part));
    merger.finish(0);
    let intervals = merger.complete();
    Played { tally, stuck, outcome: transport, recorder, merger, intervals, control: Rc::clone(control) }
}
