//! Questions to servers, on one connection, and whose reply is whose.

use crate::made::{
    CLIENT, SERVER, UPPER, arrival, call, exchange, fall, fall_of, fall_with, mark, opened, tags, targets,
    told, transfer, two_at_once, whole,
};
use strata_trace::mark::{Call, Mark, What};
use strata_trace::message::{Again, Messages};
use strata_trace::path::calls::{Deed, SubmittedBy};
use strata_trace::path::figures::Sample;
use strata_trace::path::tree::{Kind, Part};

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
    let service =
        |s: &Sample| -> u64 { s.segments.iter().filter(|x| x.1 == Part::Service).map(|x| x.3).sum() };
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
    let found =
        fall_with(&Messages { again, ..tags(false) }, CLIENT, events.clone(), marks.clone(), &targets()[..1]);
    assert_eq!((found.groups[0].total.count, found.missing.inconsistent), (2, 0));
    // Two of them wait for their turn and are one then.
    *marks.last_mut().unwrap() = Mark { m: 56, ..arrival(230, 2) };
    let again = [56, 84].map(|at| Again { from: 100, to: 200, at, bytes: 28 }).to_vec();
    let found = fall_with(&Messages { again, ..tags(false) }, CLIENT, events, marks, &targets()[..1]);
    assert_eq!((found.groups[0].total.count, found.missing.inconsistent), (2, 0));
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
