//! Recordings of two machines with a clock each.

use crate::made::{CLIENT, SERVER, fall_with, opened, tags, targets, told, two_at_once};
use strata_trace::event::{Event, Names};
use strata_trace::mark::Mark;
use strata_trace::message::Messages;
use strata_trace::path::figures::Waterfall;
use strata_trace::path::join::{Stated, join};
use strata_trace::path::thread_names::ThreadNames;
use strata_trace::path::tree::Kind;
use strata_trace::path::{Traced, waterfall};
use strata_trace::saved::{PathRecord, Saved};
use strata_trace::summary::Source;

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
