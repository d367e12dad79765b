//! Requests are found again whatever the block layer did with them.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use strata_trace::device::{Device, DeviceFigures, TracedDevice};
use strata_trace::event::{Event, Kind, Names};
use strata_trace::flags::Flags;

const DEV: u32 = 8 << 20;

fn target() -> TracedDevice {
    TracedDevice { name: "sda".into(), dev: DEV, role: "device".into(), ..TracedDevice::default() }
}

fn event(kind: Kind, at_ns: u64, letters: &str, sector: u64, sectors: u32) -> Event {
    Event {
        at_ns,
        sector,
        other: 0,
        dev: DEV,
        sectors,
        pid: 7,
        error: 0,
        comm: 0,
        kind,
        flags: Flags::parse(letters.as_bytes()),
    }
}

fn split(at_ns: u64, letters: &str, sector: u64, cut: u64) -> Event {
    Event { other: cut, ..event(Kind::Split, at_ns, letters, sector, 0) }
}

fn through(target: TracedDevice, before: u64, events: &[Event]) -> DeviceFigures {
    let mut device = Device::new(target, before);
    events.iter().for_each(|e| device.feed(e));
    device.figures(&Names::default(), 0)
}

#[test]
fn a_merged_request_counts_from_the_first_that_entered() {
    let events = [
        event(Kind::Queue, 10, "W", 0, 8),
        event(Kind::Queue, 20, "W", 8, 8),
        event(Kind::Merge, 20, "W", 8, 8),
        event(Kind::Queue, 25, "R", 8, 8),
        event(Kind::Insert, 30, "W", 0, 16),
        event(Kind::Issue, 50, "W", 0, 16),
        event(Kind::Issue, 60, "R", 8, 8),
        event(Kind::Complete, 90, "R", 8, 8),
        event(Kind::Complete, 150, "W", 0, 16),
    ];
    let found = through(target(), 0, &events);
    let wait = |half: &strata_trace::device::HalfFigures| half.wait.as_ref().unwrap().max_ns;
    assert_eq!((wait(&found.write), wait(&found.read)), (40, 35));
    assert_eq!(found.write.service.as_ref().unwrap().max_ns, 100);
    assert_eq!(found.write.scheduler.as_ref().unwrap().max_ns, 20);
    assert_eq!((found.merges, found.parts, found.depth), (1, 3, vec![(1, 1), (2, 1)]));
}

#[test]
fn a_request_done_in_parts_is_done_with_the_last_of_them() {
    let events = [
        event(Kind::Issue, 0, "R", 100, 32),
        event(Kind::Complete, 10, "R", 100, 8),
        event(Kind::Complete, 20, "R", 108, 8),
        event(Kind::Complete, 70, "R", 116, 16),
    ];
    let found = through(target(), 0, &events);
    let service = found.read.service.unwrap();
    assert_eq!((service.count, service.max_ns, found.began_before), (1, 70, 0));
}

#[test]
fn a_request_that_was_given_back_counts_from_its_last_issue() {
    let events = [
        event(Kind::Issue, 0, "R", 100, 8),
        event(Kind::Requeue, 5, "R", 100, 8),
        event(Kind::Issue, 50, "R", 100, 8),
        event(Kind::Complete, 60, "R", 100, 8),
    ];
    let found = through(target(), 0, &events);
    assert_eq!((found.requeues, found.read.service.unwrap().max_ns, found.depth), (1, 10, vec![(1, 2)]));
}

#[test]
fn what_was_under_way_at_the_edges_is_counted_and_not_guessed() {
    let events = [
        event(Kind::Complete, 1, "R", 800, 8),
        event(Kind::Issue, 2, "R", 0, 8),
        event(Kind::Complete, 3, "W", 900, 8),
        event(Kind::Complete, 4, "R", 0, 8),
        event(Kind::Issue, 5, "R", 8, 8),
    ];
    let found = through(target(), 0, &events);
    assert_eq!((found.began_before, found.under_way, found.depth), (2, 1, vec![(1, 2)]));
    // Known to be two at the beginning, of which one is still there when the first is issued.
    assert_eq!(through(target(), 2, &events).depth, vec![(1, 1), (2, 1)]);
}

#[test]
fn a_failed_request_is_counted_and_timed() {
    let failed = Event { error: -5, ..event(Kind::Complete, 30, "W", 0, 8) };
    let events = [event(Kind::Issue, 0, "W", 0, 8), event(Kind::Error, 30, "W", 0, 8), failed];
    assert_eq!(through(target(), 0, &events).errors, 1);
}

#[test]
fn a_partition_sees_its_own_sectors_and_its_own_entrance() {
    let part = TracedDevice { entrance: Some(DEV | 1), sectors: Some((1000, 2000)), ..target() };
    let inside = Event { dev: DEV | 1, ..event(Kind::Queue, 1, "R", 1008, 8) };
    let events = [
        inside,
        event(Kind::Issue, 2, "R", 1008, 8),
        event(Kind::Issue, 3, "R", 2000, 8),
        event(Kind::Complete, 9, "R", 2000, 8),
        event(Kind::Complete, 11, "R", 1008, 8),
    ];
    let found = through(part, 0, &events);
    assert_eq!((found.read.entered.ios, found.read.issued.ios, found.began_before), (1, 1, 0));
}

#[test]
fn a_device_without_requests_is_timed_from_the_entrance() {
    let zram = TracedDevice { by_bio: true, ..target() };
    let events = [event(Kind::Queue, 5, "W", 0, 8), event(Kind::BioComplete, 9, "W", 0, 8)];
    let found = through(zram, 0, &events);
    assert_eq!((found.write.issued.ios, found.write.service.unwrap().max_ns, found.parts), (1, 4, 1));
    assert!(found.write.wait.is_none());
}

/// I/Os that enter, are cut into pieces of at most `longest`, issued and completed in any order that time allows.
fn schedule() -> impl Strategy<Value = Vec<(u64, u64, u64, u32)>> {
    // (entrance, wait, service, pieces) at places of their own.
    prop::collection::vec((0u64..5000, 0u64..400, 1u64..3000, 1u32..5), 1..80)
}

proptest! {
    #[test]
    fn every_request_is_timed_exactly(ios in schedule()) {
        let mut events = Vec::new();
        let (mut services, mut requests) = (0u128, 0u64);
        for (index, &(at, wait, service, pieces)) in ios.iter().enumerate() {
            let first = index as u64 * 1000;
            events.push(event(Kind::Queue, at, "W", first, 8 * pieces));
            for piece in 0..pieces {
                let here = first + u64::from(piece) * 8;
                if piece + 1 < pieces {
                    events.push(split(at, "W", here, here + 8));
                }
                events.push(event(Kind::Issue, at + wait, "W", here, 8));
                events.push(event(Kind::Complete, at + wait + service + u64::from(piece), "W", here, 8));
                services += u128::from(service + u64::from(piece));
                requests += 1;
            }
        }
        events.sort_by_key(|e| e.at_ns);
        let found = through(target(), 0, &events);
        let times = found.write.service.unwrap();
        prop_assert_eq!((times.count, found.began_before, found.under_way), (requests, 0, 0));
        prop_assert!((times.mean_ns * requests as f64 - services as f64).abs() < 1.0);
        prop_assert_eq!((found.parts, found.splits), (requests, requests - ios.len() as u64));
        let waits = found.write.wait.unwrap();
        let expected: u64 = ios.iter().map(|io| io.1 * u64::from(io.3)).sum();
        prop_assert!((waits.mean_ns * waits.count as f64 - expected as f64).abs() < 1.0);
        prop_assert_eq!(found.depth.iter().map(|d| d.1).sum::<u64>(), requests);
        let deepest = found.depth.last().unwrap().0;
        prop_assert!(deepest <= requests);
    }

    #[test]
    fn any_events_end_in_figures_that_add_up(raw in prop::collection::vec((0u8..10, 0u64..40, 0u32..17, 0usize..5), 0..300)) {
        let letters = ["R", "WS", "D", "F", "N"];
        let events: Vec<Event> = raw.iter().zip(0..).map(|(&(kind, sector, sectors, op), at)| Event {
            other: sector + 4,
            ..event(Kind::from_number(kind).unwrap(), at, letters[op], sector, sectors)
        }).collect();
        let found = through(target(), 0, &events);
        let issues = events.iter().filter(|e| e.kind == Kind::Issue).count() as u64;
        prop_assert_eq!(found.depth.iter().map(|d| d.1).sum::<u64>(), issues);
        let halves = found.read.issued.ios + found.write.issued.ios;
        prop_assert!(halves + found.discards + found.others <= issues);
    }
}
