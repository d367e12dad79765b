//! System calls, io_uring and AIO on devices of this machine.

use crate::made::{CLIENT, LOWER, UPPER, WORKER, block, call, fall, fall_of, mark, targets, told, whole};
use strata_trace::event::{Event, Kind as Block};
use strata_trace::flags::Flags;
use strata_trace::mark::{Call, What};
use strata_trace::path::calls::{Deed, SubmittedBy};
use strata_trace::path::figures::Missing;
use strata_trace::path::tree::{Kind, Part};

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
    assert_eq!(left_out(&found.missing), 0);
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
fn what_no_call_asked_for_is_the_kernels() {
    let found = fall(whole(UPPER, WORKER, 0, [120, 150, 900]), Vec::new(), &targets()[..1]);
    assert_eq!((found.groups.len(), found.missing.by_kernel), (0, 1));
}

/// All that is told of none.
fn left_out(missing: &Missing) -> u64 {
    missing.ambiguous
        + missing.overlapping
        + missing.inconsistent
        + missing.handed_over
        + missing.under_way
        + missing.by_kernel
}
