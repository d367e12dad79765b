//! One thread of a run: makes its queue, fills its buffers, waits for the others, loads, and reports.

use std::io;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use strata_hist::Histogram;
use strata_io::Queue;
use strata_pace::{Limits, Schedule, Throttle};
use strata_pattern::{Access, DataGenerator, DataReduction, Pattern, Rng, Stamper, fill_incompressible};

use crate::clock::Clock;
use crate::control::Control;
use crate::cpu::{self, Usage};
use crate::error::{Error, Result};
use crate::job::Process;
use crate::load::{Ended, Load, Marks, Plan, Tally};
use crate::pace::{Closed, Open, Pace};
use crate::place::{self, Pin, Placement};
use crate::record::{Lane, Part, Recorder};
use crate::slot_table::Stuck;

/// How the data of a write is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferFill {
    /// Random data, made unlike what was written before.
    Stamp,
    /// All of it anew.
    Refill,
    /// As the job says.
    Reduced(DataReduction),
    /// Zeros. A slot's buffer also takes what is read, so they are made for each write.
    Zeros,
}

impl BufferFill {
    /// What a job asks for.
    pub fn of(workload: &crate::job::Workload) -> Self {
        if workload.zero_buffers { Self::Zeros } else { workload.data.map_or(Self::Stamp, Self::Reduced) }
    }
}

/// What the threads of a run have in common, decided before any of them begins.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub pattern: Pattern,
    pub seed: u64,
    pub threads: u32,
    pub depth: u32,
    pub batch: u32,
    pub block_bytes: u32,
    pub rate: Option<crate::job::Rate>,
    pub limits: Option<crate::job::Limits>,
    pub ramp_ns: u64,
    pub runtime_ns: u64,
    pub interval_ns: u64,
    pub stop_on_error: bool,
    pub pin: Option<Pin>,
    pub fill_buffer: BufferFill,
    pub drain_ns: u64,
    /// When to start, on `CLOCK_MONOTONIC`; `None`: when all threads are ready.
    pub start_at_ns: Option<u64>,
    /// The run stops unless it is renewed within so much time.
    pub lease_ns: Option<u64>,
}

/// A queue and how it was set up.
pub struct Made<Q> {
    /// The queue, usable in the thread that made it.
    pub queue: Q,
    /// Flags and registrations in force.
    pub setup: Vec<String>,
}

/// What a thread tells the collector.
#[derive(Debug)]
pub enum Event {
    /// An interval is over.
    Part(Box<Part>),
    /// Counting has ended; draining begins.
    Ended,
    /// All done.
    Finished(Box<Report>),
    /// It panicked with this text.
    Panicked(u32, String),
}

impl From<Part> for Event {
    fn from(part: Part) -> Self {
        Self::Part(Box::new(part))
    }
}

/// What a thread counted besides its intervals.
#[derive(Debug)]
pub struct Report {
    pub thread: u32,
    pub tally: Tally,
    /// Those that never came back.
    pub stuck: Vec<Stuck>,
    /// One for each operation; empty for a thread that never reported.
    pub lanes: Vec<Lane>,
    pub lag: Histogram,
    pub usage: Usage,
    /// Where it was told to run.
    pub pinned: Option<Vec<u32>>,
    pub placement: Placement,
    pub transport: io::Result<()>,
}

impl Report {
    /// Of a thread that tells nothing itself: it was stopped before it began, or never came back; what it had handed over
    /// is in the books.
    #[must_use]
    pub fn idle(thread: u32, recipe: &Recipe, control: &Control) -> Self {
        let tally = Tally { end_ns: control.end_ns(), ..control.slot_table(thread).tally() };
        Self {
            thread,
            tally,
            stuck: Vec::new(),
            lanes: Vec::new(),
            lag: Histogram::new(),
            usage: Usage::default(),
            pinned: recipe.pin.as_ref().map(|p| p.of(thread).to_vec()),
            placement: Placement::default(),
            transport: Ok(()),
        }
    }
}

/// What a thread records with and makes its data with.
struct Tools {
    recorder: Recorder<Sender<Event>>,
    meter: Meter,
    stamper: Stamper,
    rng: Rng,
    generator: DataGenerator,
}

impl Tools {
    fn new(thread: u32, recipe: &Recipe, events: &Sender<Event>) -> Self {
        let like =
            if let BufferFill::Reduced(like) = recipe.fill_buffer { like } else { DataReduction::default() };
        Self {
            recorder: Recorder::new(thread, 0, recipe.interval_ns, events.clone()),
            meter: Meter { events: events.clone(), begun: None, used: Usage::default() },
            stamper: Stamper::new(recipe.seed, thread),
            rng: Rng::new(recipe.seed, (2 << 32) + u64::from(thread)),
            generator: DataGenerator::new(like, recipe.seed, thread),
        }
    }
}

struct Meter {
    events: Sender<Event>,
    begun: Option<Usage>,
    used: Usage,
}

impl Marks for &mut Meter {
    fn measuring(&mut self) {
        self.begun = Some(Usage::thread());
    }

    fn ended(&mut self) {
        if let Some(begun) = self.begun {
            self.used = Usage::thread().since(&begun);
        }
        // A receiver that is gone means the run was given up.
        let _ = self.events.send(Event::Ended);
    }
}

/// Body of a worker thread. `factory` makes the queue here, because a ring belongs to the thread that makes it;
/// what it says (or its error) goes to `ready` before the thread waits for the gate.
pub fn work<Q, C, F>(
    thread: u32,
    recipe: &Recipe,
    factory: &F,
    clock: C,
    control: &Arc<Control>,
    ready: Sender<Result<Vec<String>>>,
    events: Sender<Event>,
) where
    Q: Queue,
    C: Clock,
    F: Fn(u32) -> Result<Made<Q>>,
{
    let body = || prepare(thread, recipe, factory, clock, control, &ready, &events);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
        let text =
            panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("a worker thread panicked").to_owned();
        let _ = ready.send(Err(Error::bug("engine", &text)));
        let _ = events.send(Event::Panicked(thread, text));
    }
}

fn prepare<Q, C, F>(
    thread: u32,
    recipe: &Recipe,
    factory: &F,
    clock: C,
    control: &Arc<Control>,
    ready: &Sender<Result<Vec<String>>>,
    events: &Sender<Event>,
) where
    Q: Queue,
    C: Clock,
    F: Fn(u32) -> Result<Made<Q>>,
{
    let made = settle(thread, recipe).and_then(|()| factory(thread)).and_then(|mut made| {
        let mut rng = Rng::new(recipe.seed, (1 << 32) + u64::from(thread));
        for slot in 0..recipe.depth {
            fill_incompressible(made.queue.buffer(slot), &mut rng);
        }
        let access = recipe
            .pattern
            .access(thread, recipe.threads)
            .ok_or_else(|| Error::Job(vec![format!("thread {thread} has no block of its own")]))?;
        Ok((made, access))
    });
    let (Made { queue, setup }, access) = match made {
        Ok(made) => made,
        Err(e) => {
            let _ = ready.send(Err(e));
            return;
        }
    };
    // Before the wait for the start: what takes time now would be taken from the first I/O.
    let mut tools = Tools::new(thread, recipe, events);
    let _ = ready.send(Ok(setup));
    let Some(start_ns) = control.await_gate() else { return };
    tools.recorder.count_from(start_ns + recipe.ramp_ns);
    // Given back by the collector once the first I/O is issued: not in the loop.
    let _urgent = recipe.start_at_ns.map(|_| control.urgent.raise());
    if !control.await_start(&clock, start_ns) {
        let _ = events.send(Event::Finished(Box::new(Report::idle(thread, recipe, control))));
        return;
    }
    // Until nothing is known to be in flight: a panic in the loop must not free what the kernel may still write to.
    let mut queue = ManuallyDrop::new(queue);
    let queue_ref = &mut *queue;
    let report = match (recipe.rate, recipe.limits) {
        (None, None) => load(thread, recipe, queue_ref, clock, control, tools, Closed, access, start_ns),
        (None, Some(limits)) => {
            let pace = throttle(limits, recipe.threads);
            load(thread, recipe, queue_ref, clock, control, tools, pace, access, start_ns)
        }
        (Some(rate), _) => {
            let schedule = match rate.process {
                Process::Constant => Schedule::constant(rate.iops, thread, recipe.threads),
                Process::Poisson => Schedule::poisson(rate.iops, recipe.threads),
            };
            let chance = Rng::new(recipe.seed, (4 << 32) + u64::from(thread));
            let pace = Open::new(schedule.in_bursts(rate.burst), chance);
            load(thread, recipe, queue_ref, clock, control, tools, pace, access, start_ns)
        }
    };
    let queue = ManuallyDrop::into_inner(queue);
    if report.tally.stuck > 0 || report.transport.is_err() {
        // The kernel may still write into the buffers: they must outlive this thread.
        queue.abandon();
    } else {
        drop(queue);
    }
    let _ = events.send(Event::Finished(Box::new(report)));
}

/// One thread's share of the ceilings; pauses are each thread's own.
fn throttle(limits: crate::job::Limits, threads: u32) -> Throttle {
    let share = |ceiling: Option<f64>| ceiling.map_or(0.0, |c| 1e9 * f64::from(threads) / c);
    Throttle::new(Limits {
        ns_per_io: share(limits.iops),
        ns_per_byte: share(limits.bytes_per_s),
        burst: if limits.think_ns > 0 { limits.think_every } else { 0 },
        think_ns: limits.think_ns,
    })
}

fn settle(thread: u32, recipe: &Recipe) -> Result<()> {
    cpu::tighten_timers();
    recipe.pin.as_ref().map_or(Ok(()), |pin| place::apply(pin, thread))
}

#[expect(clippy::too_many_arguments, reason = "every one of them is a different thing, used once")]
fn load<Q: Queue, C: Clock, P: Pace>(
    thread: u32,
    recipe: &Recipe,
    queue: &mut Q,
    clock: C,
    control: &Control,
    tools: Tools,
    pace: P,
    access: Access,
    start_ns: u64,
) -> Report {
    let Tools { mut recorder, mut meter, mut stamper, mut rng, mut generator } = tools;
    let fill_buffer = recipe.fill_buffer;
    let plan = Plan {
        depth: recipe.depth,
        batch: recipe.batch,
        start_ns,
        stop_on_error: recipe.stop_on_error,
        drain_ns: recipe.drain_ns,
    };
    let Ended { tally, stuck, transport } = Load {
        queue,
        clock,
        pace,
        access,
        fill_buffer: |buffer: &mut [u8]| match fill_buffer {
            BufferFill::Stamp => stamper.stamp(buffer),
            other => make_anew(other, buffer, &mut rng, &mut generator),
        },
        slot_table: control.slot_table(thread),
        recorder: &mut recorder,
        control,
        marks: &mut meter,
        plan,
    }
    .run();
    let Recorder { lanes, lag, .. } = recorder;
    let (pinned, placement) = (recipe.pin.as_ref().map(|p| p.of(thread).to_vec()), Placement::in_effect());
    Report { thread, tally, stuck, lanes: lanes.into(), lag, usage: meter.used, pinned, placement, transport }
}

/// All data of a buffer, for every way but stamps. Apart, so that one more way costs those nothing.
#[inline(never)]
fn make_anew(how: BufferFill, buffer: &mut [u8], rng: &mut Rng, generator: &mut DataGenerator) {
    match how {
        BufferFill::Zeros => buffer.fill(0),
        BufferFill::Reduced(_) => generator.make(buffer),
        BufferFill::Refill | BufferFill::Stamp => fill_incompressible(buffer, rng),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::mpsc;
    use std::time::Duration;

    use strata_io::{Completion, Io};
    use strata_pattern::{BlockMap, Mix, Order, Segment};

    use super::*;
    use crate::clock::Monotonic;

    /// What became of a queue.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    enum End {
        #[default]
        Leaked,
        Dropped,
        Abandoned,
    }

    /// Takes I/Os and ends them with `submit`.
    struct Spy {
        end: Rc<Cell<End>>,
        buffer: Vec<u8>,
        pushed: Vec<u32>,
        submit: fn() -> io::Result<()>,
    }

    impl Queue for Spy {
        fn buffer(&mut self, _slot: u32) -> &mut [u8] {
            &mut self.buffer
        }
        fn push(&mut self, slot: u32, _io: Io) {
            self.pushed.push(slot);
        }
        fn submit(&mut self, _wait: u32, _timeout: Option<Duration>) -> io::Result<()> {
            (self.submit)()
        }
        fn reap(&mut self, mut f: impl FnMut(Completion)) -> usize {
            self.pushed.drain(..).map(|slot| f(Completion { slot, result: 512 })).count()
        }
        fn abandon(self) {
            self.end.set(End::Abandoned);
            std::mem::forget(self);
        }
    }

    impl Drop for Spy {
        fn drop(&mut self) {
            self.end.set(End::Dropped);
        }
    }

    fn end_of(submit: fn() -> io::Result<()>) -> End {
        let recipe = Recipe {
            pattern: Pattern::new(
                BlockMap::new(&[Segment { start: 0, length: 4096, target: 0 }], 512).expect("blocks"),
                Order::Random,
                Mix::Read,
                1,
            ),
            seed: 1,
            threads: 1,
            depth: 2,
            batch: 2,
            block_bytes: 512,
            rate: None,
            limits: None,
            ramp_ns: 0,
            runtime_ns: 1_000_000_000,
            interval_ns: 1_000_000_000,
            stop_on_error: false,
            pin: None,
            fill_buffer: BufferFill::Stamp,
            drain_ns: 1_000_000_000,
            start_at_ns: None,
            lease_ns: None,
        };
        let end = Rc::new(Cell::default());
        let factory = |_| {
            let queue = Spy { end: Rc::clone(&end), buffer: vec![0; 512], pushed: vec![], submit };
            Ok(Made { queue, setup: vec![] })
        };
        let control = Arc::new(Control::new(Some(10), 1, 2));
        let now_ns = Monotonic.now_ns();
        control.open_gate(now_ns, now_ns + recipe.runtime_ns);
        let ((ready, _readiness), (tell, _events)) = (mpsc::channel(), mpsc::channel());
        work(0, &recipe, &factory, Monotonic, &control, ready, tell);
        end.get()
    }

    #[test]
    fn buffers_with_ios_in_flight_are_not_freed() {
        assert_eq!(end_of(|| Ok(())), End::Dropped);
        assert_eq!(end_of(|| Err(io::Error::from_raw_os_error(libc::EBADF))), End::Abandoned);
        assert_eq!(end_of(|| panic!("a bug in the loop")), End::Leaked);
    }
}
