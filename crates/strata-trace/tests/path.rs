//! A request is followed through every layer, and what could belong to two is told of none.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use strata_trace::device::TracedDevice;
use strata_trace::event::{Event, Kind as Block, Names};
use strata_trace::flags::Flags;
use strata_trace::mark::{Call, Mark, What};
use strata_trace::message::{Again, Messages, Spoken, Tagged};
use strata_trace::path::calls::{Deed, SubmittedBy};
use strata_trace::path::figures::{Group, Waterfall};
use strata_trace::path::join::{Stated, join};
use strata_trace::path::thread_names::ThreadNames;
use strata_trace::path::tree::{Kind, Part};
use strata_trace::path::{Traced, waterfall};
use strata_trace::saved::{PathRecord, Saved};
use strata_trace::summary::Source;

const UPPER: u32 = 7 << 20;
const LOWER: u32 = 8 << 20;
const CLIENT: i32 = 10;
const SERVER: i32 = 20;
const WORKER: i32 = 30;

fn block(dev: u32, kind: Block, at_ns: u64, pid: i32, sector: u64) -> Event {
    Event {
        at_ns,
        sector,
        other: 0,
        dev,
        sectors: 8,
        pid,
        error: 0,
        comm: 0,
        kind,
        flags: Flags::parse(b"R"),
    }
}

/// Queued, issued and done by these times.
fn whole(dev: u32, pid: i32, sector: u64, times: [u64; 3]) -> Vec<Event> {
    let kinds = [Block::Queue, Block::Issue, Block::Complete];
    kinds.into_iter().zip(times).map(|(kind, at)| block(dev, kind, at, pid, sector)).collect()
}

fn mark(at_ns: u64, pid: i32, what: What, a: u64, n: i32) -> Mark {
    Mark { at_ns, a, b: 0, c: 0, n, m: 0, pid, what }
}

fn call(pid: i32, call: Call, placed: bool, begin: u64, end: u64) -> [Mark; 2] {
    [mark(begin, pid, What::Enter(call, placed), 0, 0), mark(end, pid, What::Exit, 0, 0)]
}

/// `n` bytes by a call from begin to end, moved at `at`.
fn transfer(pid: i32, what: What, socket: u64, n: i32, [begin, at, end]: [u64; 3]) -> Vec<Mark> {
    let kind = if what == What::Sent { Call::Send } else { Call::Receive };
    let [enter, exit] = call(pid, kind, false, begin, end);
    vec![enter, mark(at, pid, what, socket, n), exit]
}

/// A segment at the client's socket (1) or the server's (2).
fn arrival(at_ns: u64, socket: u64) -> Mark {
    let (b, c, n) = if socket == 1 { (100, 200, 40000) } else { (200, 100, 445) };
    Mark { at_ns, a: socket, b, c, n, m: 0, pid: 0, what: What::Arrived }
}

fn targets() -> Vec<TracedDevice> {
    let one = |name: &str, dev| TracedDevice {
        name: name.into(),
        dev,
        role: "device".into(),
        ..TracedDevice::default()
    };
    vec![one("loop0", UPPER), TracedDevice { above: Some("loop0".into()), ..one("sda", LOWER) }]
}

fn fall(events: Vec<Event>, marks: Vec<Mark>, targets: &[TracedDevice]) -> Waterfall {
    fall_of(0, events, marks, targets)
}

/// As `fall`, of one process and what it starts.
fn fall_of(follow: i32, events: Vec<Event>, marks: Vec<Mark>, targets: &[TracedDevice]) -> Waterfall {
    fall_with(&Messages::default(), follow, events, marks, targets)
}

/// As `fall_of`, with headers of the wire.
fn fall_with(
    messages: &Messages,
    follow: i32,
    mut events: Vec<Event>,
    mut marks: Vec<Mark>,
    targets: &[TracedDevice],
) -> Waterfall {
    events.sort_by_key(|e| e.at_ns);
    marks.sort_by_key(|m| m.at_ns);
    let mut thread_names = ThreadNames::default();
    thread_names.put(CLIENT, CLIENT, "app");
    thread_names.put(SERVER, SERVER, "nbdd");
    thread_names.put(SERVER + 1, SERVER, "nbdd");
    let traced = Traced {
        targets,
        events: &events,
        marks: &marks,
        messages,
        thread_names: &thread_names,
        follow,
        began_ns: 0,
        clock: None,
    };
    waterfall(&traced)
}

/// (kind of the layer, part, ns) of the first group.
fn told(fall: &Waterfall) -> Vec<(Kind, Part, u64)> {
    let group: &Group = &fall.groups[0];
    let parts =
        group.layers.iter().flat_map(|l| l.parts.iter().map(move |p| (l.layer, p.part, p.mean_ns as u64)));
    parts.map(|(layer, part, ns)| (fall.layers[layer].kind, part, ns)).collect()
}

#[test]
fn a_system_call_goes_through_a_device_and_the_one_below_it() {
    let mut events = whole(UPPER, CLIENT, 0, [120, 150, 900]);
    events.extend(whole(LOWER, WORKER, 5000, [200, 260, 800]));
    let found = fall(events, call(CLIENT, Call::Read, true, 100, 1000).to_vec(), &targets());
    assert_eq!(
        (found.groups[0].way, found.groups[0].deed, found.groups[0].total.count),
        (SubmittedBy::Call, Deed::Read, 1)
    );
    let device = |part, ns| (Kind::Device, part, ns);
    assert_eq!(
        told(&found),
        [
            (Kind::Call, Part::Own, 120),
            device(Part::Queue, 30),
            device(Part::Own, 150),
            device(Part::Queue, 60),
            device(Part::Service, 540),
        ]
    );
    assert_eq!(found.missing.requests_all(), 0);
}

#[test]
fn requests_of_io_uring_are_told_apart_in_one_call() {
    let mut marks = call(CLIENT, Call::Ring, false, 100, 1000).to_vec();
    for (at, name) in [(110, 1), (210, 2)] {
        marks.push(mark(at, CLIENT, What::Taken, name, 22));
    }
    marks.extend([mark(700, 0, What::Done, 2, 0), mark(800, 0, What::Done, 1, 0)]);
    let mut events = whole(UPPER, CLIENT, 0, [120, 150, 790]);
    events.extend(whole(UPPER, CLIENT, 64, [220, 250, 690]));
    let found = fall(events, marks, &targets()[..1]);
    assert_eq!(found.groups[0].way, SubmittedBy::IoUring);
    let mut taken: Vec<u64> = found.samples.iter().map(|s| s.ns).collect();
    taken.sort_unstable();
    // To the return of the call that waited for both.
    assert_eq!(taken, [790, 890]);
    let service: u64 =
        found.samples.iter().flat_map(|s| &s.segments).filter(|s| s.1 == Part::Service).map(|s| s.3).sum();
    assert_eq!(service, 640 + 440);
}

#[test]
fn io_submit_ends_with_its_io_and_is_fetched_later() {
    let mut marks = call(CLIENT, Call::Submit, false, 100, 200).to_vec();
    marks.extend(call(CLIENT, Call::Reap, false, 300, 950));
    let found = fall(whole(UPPER, CLIENT, 0, [120, 150, 900]), marks, &targets()[..1]);
    assert_eq!((found.groups[0].way, found.samples[0].ns), (SubmittedBy::Aio, 850));
    assert!(told(&found).contains(&(Kind::Client, Part::Own, 50)));
}

/// One question from 100 on, with the server's read of a device between; the answer is there at 1 300.
fn exchange(shift: u64) -> (Vec<Mark>, Vec<Event>) {
    let t = |at: u64| at + shift;
    let mut marks = transfer(CLIENT, What::Sent, 1, 28, [t(100), t(105), t(110)]);
    marks.push(arrival(t(200), 2));
    marks.extend(transfer(SERVER, What::Received, 2, 28, [t(50), t(250), t(255)]));
    marks.extend(call(SERVER, Call::Read, true, t(300), t(1000)));
    marks.extend(transfer(SERVER, What::Sent, 2, 4096, [t(1100), t(1150), t(1160)]));
    marks.push(arrival(t(1300), 1));
    marks.extend(transfer(CLIENT, What::Received, 1, 4096, [t(1350), t(1390), t(1400)]));
    (marks, whole(UPPER, SERVER, 0, [t(310), t(350), t(950)]))
}

#[test]
fn a_question_to_a_server_is_divided_between_both_and_the_wire() {
    let (marks, events) = exchange(0);
    let found = fall(events, marks, &targets()[..1]);
    assert_eq!((found.groups[0].way, found.groups[0].deed), (SubmittedBy::Exchange, Deed::Read));
    assert_eq!(
        told(&found),
        [
            (Kind::Client, Part::Own, 100),
            (Kind::Wire, Part::Own, 300),
            (Kind::Server, Part::Queue, 50),
            (Kind::Server, Part::Own, 150),
            (Kind::Call, Part::Own, 60),
            (Kind::Device, Part::Queue, 40),
            (Kind::Device, Part::Service, 600),
        ]
    );
    assert!(found.layers.iter().any(|l| l.kind == Kind::Server && l.of == "nbdd"));
}

#[test]
fn the_next_socket_may_have_the_address_of_one_that_is_gone() {
    let (marks, events) = exchange(5000);
    let mut all = vec![Mark { b: 300, c: 400, ..arrival(10, 1) }, mark(20, CLIENT, What::Gone, 1, 0)];
    all.extend(marks);
    let found = fall(events, all, &targets()[..1]);
    assert_eq!((found.groups[0].way, found.groups[0].total.count), (SubmittedBy::Exchange, 1));
}

#[test]
fn overlapping_questions_are_counted_and_not_told() {
    let (mut marks, events) = exchange(0);
    // Before the answer is there, the next is asked.
    marks.extend(transfer(CLIENT, What::Sent, 1, 28, [1200, 1205, 1210]));
    let (more, others) = exchange(5000);
    marks.extend(more);
    let found = fall_of(CLIENT, [events, others].concat(), marks, &targets()[..1]);
    assert!(found.groups.iter().all(|g| g.way != SubmittedBy::Exchange), "{found:?}");
    // What is still open when the window ends is not counted yet.
    let (mut marks, events) = exchange(0);
    let second = [
        transfer(CLIENT, What::Sent, 1, 28, [1200, 1205, 1210]),
        transfer(SERVER, What::Received, 2, 28, [1210, 1260, 1265]),
        transfer(SERVER, What::Sent, 2, 4096, [1500, 1550, 1560]),
        transfer(CLIENT, What::Received, 1, 4096, [1600, 1690, 1700]),
    ];
    marks.extend(second.concat());
    let found = fall_of(CLIENT, events, marks, &targets()[..1]);
    assert_eq!((found.groups.len(), found.missing.overlapping), (0, 2));
}

/// Two questions that are sent before any reply, in two calls, and answered in two.
fn two_at_once() -> (Vec<Mark>, Vec<Event>) {
    let marks = [
        transfer(CLIENT, What::Sent, 1, 28, [100, 105, 110]),
        transfer(CLIENT, What::Sent, 1, 28, [120, 125, 130]),
        vec![Mark { m: 28, ..arrival(200, 2) }, Mark { m: 28, ..arrival(220, 2) }],
        transfer(SERVER, What::Received, 2, 28, [50, 250, 255]),
        transfer(SERVER + 1, What::Received, 2, 28, [256, 260, 265]),
        call(SERVER, Call::Read, true, 300, 1000).to_vec(),
        call(SERVER + 1, Call::Read, true, 310, 700).to_vec(),
        // The second is answered first.
        transfer(SERVER + 1, What::Sent, 2, 4112, [750, 760, 770]),
        transfer(SERVER, What::Sent, 2, 4112, [1100, 1150, 1160]),
        vec![Mark { m: 4112, ..arrival(900, 1) }, Mark { m: 4112, ..arrival(1300, 1) }],
        transfer(CLIENT, What::Received, 1, 4112, [140, 950, 960]),
        transfer(CLIENT, What::Received, 1, 4112, [970, 1390, 1400]),
    ];
    let mut events = whole(UPPER, SERVER, 0, [310, 350, 950]);
    events.extend(whole(UPPER, SERVER + 1, 64, [320, 360, 650]));
    (marks.concat(), events)
}

#[test]
fn two_questions_sent_together_are_not_told_as_one() {
    let (marks, events) = two_at_once();
    let found = fall(events.clone(), marks.clone(), &targets()[..1]);
    assert_eq!(
        (found.groups.iter().filter(|g| g.way == SubmittedBy::Exchange).count(), found.missing.overlapping),
        (0, 0)
    );
    let found = fall_of(CLIENT, events, marks.clone(), &targets()[..1]);
    assert_eq!((found.groups.len(), found.missing.overlapping), (0, 2));
    // Of a server elsewhere not even the replies are told apart, nor those that come later.
    let (later, _) = exchange(5000);
    let mine = [marks, later].concat().into_iter().filter(|m| m.pid == CLIENT || m.a == 1).collect();
    let found = fall_of(CLIENT, Vec::new(), mine, &targets()[..1]);
    assert_eq!((found.groups.len(), found.missing.overlapping), (0, 3));
}

/// What the headers of `two_at_once` said.
fn tags(swapped: bool) -> Messages {
    let one = Tagged { client: 100, server: 200, asked: (0, 28), answered: (0, 4112), deed: 1 };
    let (asked, answered) = ([(0, 28), (28, 56)], [(4112, 8224), (0, 4112)]);
    let pairs = (0..2).map(|n| Tagged {
        asked: asked[n],
        answered: answered[if swapped { 1 - n } else { n }],
        ..one
    });
    let spoken = Spoken { client: 100, server: 200, unmatched: 5, waiting: 1 };
    Messages { pairs: pairs.collect(), spoken: vec![spoken], again: Vec::new() }
}

/// Both ends of the connection from its beginning.
fn opened() -> [Mark; 2] {
    [(1, 1), (2, 0)].map(|(socket, m)| Mark { m, what: What::Opened, ..arrival(10, socket) })
}

#[test]
fn headers_say_which_reply_belongs_to_which_question() {
    let (mut marks, events) = two_at_once();
    marks.extend(opened());
    let found = fall_with(&tags(false), CLIENT, events.clone(), marks.clone(), &targets()[..1]);
    let (group, missing) = (&found.groups[0], found.missing);
    assert_eq!((group.way, group.deed, group.total.count), (SubmittedBy::Exchange, Deed::Read, 2));
    assert_eq!(
        (missing.overlapping, missing.inconsistent, missing.unmatched, missing.under_way),
        (0, 0, 5, 1)
    );
    let mut taken: Vec<(u64, u64)> = found.samples.iter().map(|s| (s.at_ns, s.ns)).collect();
    taken.sort_unstable();
    assert_eq!(taken, [(100, 1300), (120, 840)]);
    // The device's times are those of each one's own read.
    let service = |s: &strata_trace::path::figures::Sample| -> u64 {
        s.segments.iter().filter(|x| x.1 == Part::Service).map(|x| x.3).sum()
    };
    assert_eq!(found.samples.iter().map(service).collect::<Vec<_>>(), [600, 290]);
    // Were they told the other way round, the times would be others.
    let found = fall_with(&tags(true), CLIENT, events.clone(), marks.clone(), &targets()[..1]);
    assert_ne!(found.samples.first().map(|s| s.ns), Some(1300));
    // A byte that came twice: when the others came is not known.
    marks.push(Mark { m: 28, ..arrival(230, 2) });
    let found = fall_with(&tags(false), CLIENT, events.clone(), marks.clone(), &targets()[..1]);
    assert_eq!((found.groups.len(), found.missing.inconsistent), (0, 2));
    // Unless the wire said which it was.
    let again = vec![Again { from: 100, to: 200, at: 56, bytes: 28 }];
    let found = fall_with(&Messages { again, ..tags(false) }, CLIENT, events, marks, &targets()[..1]);
    assert_eq!((found.groups[0].total.count, found.missing.inconsistent), (2, 0));
}

/// What a machine recorded, `ahead` of the other's clock.
fn recording(events: Vec<Event>, marks: Vec<Mark>, messages: Messages, follow: i32, ahead: u64) -> Saved {
    let mut thread_names = ThreadNames::default();
    thread_names.put(CLIENT, CLIENT, "app");
    thread_names.put(SERVER, SERVER, "nbdd");
    thread_names.put(SERVER + 1, SERVER, "nbdd");
    let later = |at: u64| at + ahead;
    let mut marks: Vec<Mark> = marks.into_iter().map(|m| Mark { at_ns: later(m.at_ns), ..m }).collect();
    marks.sort_by_key(|m| m.at_ns);
    let source = Source {
        targets: targets()[..1].to_vec(),
        events: events.into_iter().map(|e| Event { at_ns: later(e.at_ns), ..e }).collect(),
        names: Names::default(),
        window_ns: Some((ahead, later(2000))),
        whole: true,
    };
    Saved {
        source,
        way: Some(PathRecord { marks, messages, thread_names, follow }),
        recording: serde_json::Value::Null,
    }
}

/// `two_at_once` as both machines saw it.
fn both(ahead: u64) -> (Saved, Saved) {
    let (mut marks, events) = two_at_once();
    marks.extend(opened());
    let mine = |m: &Mark| if m.pid == 0 { m.a == 1 } else { m.pid == CLIENT };
    let (here, there): (Vec<Mark>, Vec<Mark>) = marks.into_iter().partition(mine);
    let first = recording(Vec::new(), here, tags(false), CLIENT, 0);
    (first, recording(events, there, Messages::default(), 0, ahead))
}

#[test]
fn two_recordings_on_two_clocks_are_one_within_the_bound() {
    let ahead = 5_000_000_000_123;
    let (first, second) = both(ahead);
    let (joined, clock) = join(first, second, None).unwrap();
    let way = joined.way.as_ref().unwrap();
    let mut traced = Traced::of(&joined.source, way, 0);
    traced.clock = Some(&clock);
    let found = waterfall(&traced);
    let (mut marks, events) = two_at_once();
    marks.extend(opened());
    let one = fall_with(&tags(false), CLIENT, events, marks, &targets()[..1]);
    let said = found.clock.unwrap();
    // Sent at 120 and there at 220; sent at 750 and there at 900.
    assert!(said.figures.bound_ns <= 125 + 2 && said.figures.bound_ns > 0, "{said:?}");
    let off = said.figures.offset_ns - ahead as i64;
    assert!(off.unsigned_abs() <= said.figures.bound_ns, "{said:?}");
    assert_eq!((said.exchanges, found.groups[0].total.count), (2, 2));
    let by_kind = |fall: &Waterfall| {
        let mut sums: Vec<(Kind, u64)> = told(fall).into_iter().map(|(kind, _, ns)| (kind, ns)).collect();
        sums.sort_unstable();
        sums
    };
    // The wire both ways is as exact as on one clock; rounding aside.
    for (here, there) in by_kind(&found).iter().zip(by_kind(&one)) {
        assert!(here.0 == there.0 && here.1.abs_diff(there.1) <= 2, "{:?} {:?}", told(&found), told(&one));
    }
    let each_way = (said.there_ns - 100.0).abs().max((said.back_ns - 175.0).abs());
    assert!(each_way <= said.figures.bound_ns as f64 + 2.0, "{said:?}");
    assert!((said.there_ns + said.back_ns - 275.0).abs() <= 2.0);
    // The device has one name on both machines.
    assert!(found.layers.iter().any(|l| l.name == "loop0 (server)"));
}

#[test]
fn a_clock_that_their_messages_contradict_is_refused() {
    let stated = |offset_ns, bound_ns| {
        let (first, second) = both(5_000);
        join(first, second, Some(Stated { offset_ns, bound_ns })).map(|(_, clock)| clock.bound_ns(5_000))
    };
    assert!(stated(5_010, 20).unwrap() <= 23);
    assert!(stated(6_000, 500).unwrap_err().contains("stated"));
    // Nothing that both saw.
    let (first, mut second) = both(5_000);
    second.way.as_mut().unwrap().marks.clear();
    assert!(join(first, second, None).err().unwrap().contains("no connection"));
    let (first, mut second) = both(5_000);
    second.way = None;
    assert!(join(first, second, None).is_err());
}

#[test]
fn a_connection_that_was_open_before_the_window_has_no_places() {
    let (marks, events) = two_at_once();
    let found = fall_with(&tags(false), CLIENT, events, marks, &targets()[..1]);
    assert_eq!((found.groups.len(), found.missing.overlapping), (0, 2));
}

#[test]
fn a_server_elsewhere_is_one_with_the_wire() {
    let (marks, _) = exchange(0);
    let mine: Vec<Mark> = marks.into_iter().filter(|m| m.pid == CLIENT || m.a == 1).collect();
    let found = fall_of(CLIENT, Vec::new(), mine.clone(), &targets()[..1]);
    assert_eq!(told(&found), [(Kind::Client, Part::Own, 100), (Kind::Far, Part::Service, 1200)]);
    // What others ask of other machines reaches no device of this one.
    assert_eq!(fall(Vec::new(), mine, &targets()[..1]).groups.len(), 0);
}

#[test]
fn only_the_followed_process_and_what_it_starts_is_told() {
    let mut marks = vec![mark(1, CLIENT, What::Forked, 0, CLIENT + 1)];
    let mut events = Vec::new();
    for (pid, place) in [(CLIENT + 1, 0), (WORKER, 64)] {
        marks.extend(call(pid, Call::Read, true, 100, 1000));
        events.extend(whole(UPPER, pid, place, [120, 150, 900]));
    }
    let one = &targets()[..1];
    assert_eq!(fall_of(CLIENT, events.clone(), marks.clone(), one).groups[0].total.count, 1);
    assert_eq!(fall(events, marks, one).groups[0].total.count, 2);
}

#[test]
fn what_two_servers_turns_could_own_is_told_of_neither_and_the_server_as_one() {
    let (mut marks, mut events) = exchange(0);
    // Another thread of the same process reads meanwhile, and the process talks to somebody else.
    marks.extend(call(SERVER + 1, Call::Read, true, 400, 900));
    marks.push(mark(500, SERVER + 1, What::Sent, 9, 100));
    events.extend(whole(UPPER, SERVER + 1, 640, [410, 420, 890]));
    let found = fall(events, marks, &targets()[..1]);
    assert_eq!((found.missing.ambiguous, found.missing.undivided, found.groups.len()), (0, 1, 1));
    assert!(found.groups[0].undivided);
    assert_eq!(
        told(&found),
        [
            (Kind::Client, Part::Own, 100),
            (Kind::Wire, Part::Own, 300),
            (Kind::Server, Part::Queue, 50),
            (Kind::Server, Part::Service, 850),
        ]
    );
}

#[test]
fn a_lower_request_that_fits_two_upper_ones_makes_both_ambiguous_unless_their_places_are_known() {
    let mut events = whole(UPPER, CLIENT, 0, [120, 150, 900]);
    events.extend(whole(UPPER, CLIENT + 1, 8, [125, 160, 950]));
    events.extend(whole(LOWER, WORKER, 5000, [200, 260, 800]));
    events.extend(whole(LOWER, WORKER, 5008, [210, 270, 850]));
    let mut marks = call(CLIENT, Call::Read, true, 100, 1000).to_vec();
    marks.extend(call(CLIENT + 1, Call::Read, true, 101, 1001));
    let found = fall(events.clone(), marks.clone(), &targets());
    assert_eq!((found.groups.len(), found.missing.ambiguous), (0, 2));
    let mut known = targets();
    known[1].extents = vec![(0, 5000, 4096)];
    let found = fall(events, marks, &known);
    assert_eq!((found.groups[0].total.count, found.missing.ambiguous), (2, 0));
}

#[test]
fn a_sync_waits_for_the_flush_that_is_issued_after_it_asked() {
    let flush = |kind, at, letters: &[u8]| Event {
        flags: Flags::parse(letters),
        sectors: 0,
        ..block(UPPER, kind, at, CLIENT, 0)
    };
    let events = vec![
        flush(Block::Queue, 120, b"FWS"),
        flush(Block::Issue, 170, b"F"),
        flush(Block::Complete, 900, b"F"),
    ];
    let found = fall(events, call(CLIENT, Call::Sync, false, 100, 1000).to_vec(), &targets()[..1]);
    assert_eq!(found.groups[0].deed, Deed::Sync);
    let device = |part, ns| (Kind::Device, part, ns);
    assert_eq!(
        told(&found),
        [(Kind::Call, Part::Own, 120), device(Part::Queue, 50), device(Part::Service, 730)]
    );
}

#[test]
fn what_no_call_asked_for_is_the_kernels() {
    let found = fall(whole(UPPER, WORKER, 0, [120, 150, 900]), Vec::new(), &targets()[..1]);
    assert_eq!((found.groups.len(), found.missing.by_kernel), (0, 1));
}

trait All {
    fn requests_all(&self) -> u64;
}

impl All for strata_trace::path::figures::Missing {
    fn requests_all(&self) -> u64 {
        self.ambiguous
            + self.overlapping
            + self.inconsistent
            + self.handed_over
            + self.under_way
            + self.by_kernel
    }
}

fn any_what() -> impl Strategy<Value = What> {
    prop_oneof![
        Just(What::Enter(Call::Read, true)),
        Just(What::Enter(Call::Write, false)),
        Just(What::Enter(Call::Ring, false)),
        Just(What::Enter(Call::Submit, false)),
        Just(What::Enter(Call::Reap, false)),
        Just(What::Enter(Call::Send, false)),
        Just(What::Enter(Call::Receive, false)),
        Just(What::Exit),
        Just(What::Taken),
        Just(What::Handed),
        Just(What::Done),
        Just(What::Sent),
        Just(What::Received),
        Just(What::Arrived),
        Just(What::Opened),
        Just(What::Gone),
        Just(What::Forked),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever the kernel says: it ends, and the segments of each request follow each other and add up to it.
    #[test]
    fn segments_add_up_to_their_request(
        marks in proptest::collection::vec((0u64..400, 0u64..4, 0u64..3, 0u64..3, -2i32..40, 9i32..13, any_what()), 0..160),
        events in proptest::collection::vec((0u64..400, 0usize..5, 9i32..13, 0u64..4, any::<bool>(), 0usize..6), 0..120),
    ) {
        let kinds = [Block::Queue, Block::Split, Block::Insert, Block::Issue, Block::Complete];
        // Most are reads; some are flushes, or ask for one.
        let events = events.into_iter().map(|(at, kind, pid, place, low, letters)| {
            let event = block(if low { LOWER } else { UPPER }, kinds[kind], at + 1, pid, place * 8);
            let (letters, sectors): (&[u8], u32) = [(b"F" as &[u8], 0), (b"FWS", 0)].get(letters).copied().unwrap_or((b"R", 8));
            Event { flags: Flags::parse(letters), sectors, ..event }
        });
        let marks = marks.into_iter().map(|(at, a, b, c, n, pid, what)| Mark { at_ns: at + 1, a, b, c, n, m: n.unsigned_abs(), pid, what });
        let found = fall(events.collect(), marks.collect(), &targets());
        for sample in &found.samples {
            let mut at = 0;
            for (layer, _, begin, ns) in &sample.segments {
                prop_assert!(*layer < found.layers.len());
                prop_assert_eq!(*begin, at);
                at += ns;
            }
            prop_assert_eq!(at, sample.ns);
        }
        for group in &found.groups {
            let sum: f64 = group.layers.iter().flat_map(|l| &l.parts).map(|p| p.mean_ns).sum();
            prop_assert!((sum - group.total.mean_ns).abs() < 1e-6 * group.total.mean_ns.max(1.0));
        }
    }
}
