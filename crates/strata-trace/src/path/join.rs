//! Two recordings of one talk, each on the clock of its own machine, as one on the clock of the first.

use std::collections::HashSet;

use crate::mark::{Mark, What};
use crate::saved::Saved;

use super::calls::Calls;
use super::clocks::{Bound, Clock};
use super::wire;

/// Threads of the second machine are told from those of the first; the kernel's numbers are below 2²².
const THREADS: i32 = 1 << 24;
/// So are its addresses and its devices.
const ADDRESSES: u64 = 1 << 58;
const DEVICES: u32 = 1 << 31;

/// A clock as it was read by somebody: the second machine's is ahead by so much, give or take.
#[derive(Clone, Copy, Debug)]
pub struct Stated {
    /// By so many ns …
    pub offset_ns: i64,
    /// … give or take, at the beginning of its window.
    pub bound_ns: u64,
}

/// The thread's number among those of both machines.
#[must_use]
pub fn second(tid: i32) -> i32 {
    tid.wrapping_add(THREADS)
}

/// The number that the thread has on its own machine.
#[must_use]
pub fn own(tid: i32) -> i32 {
    if is_second(tid) { tid - THREADS } else { tid }
}

/// Whether a thread is the second machine's.
#[must_use]
pub fn is_second(tid: i32) -> bool {
    tid >= THREADS
}

/// The first with the second's events in it, on its clock; and how that stands to the other.
///
/// # Errors
/// Why they do not fit each other.
pub fn join(first: Saved, second_: Saved, stated: Option<Stated>) -> Result<(Saved, Clock), String> {
    let mut first = first;
    let mut other = second_;
    let (Some(way), Some(theirs)) = (first.way.as_mut(), other.way.as_mut()) else {
        return Err("it holds no waterfall; save it with --waterfall".to_owned());
    };
    let mut bounds =
        wire::bounds(&calls_of(&way.marks), &calls_of(&theirs.marks), &[&way.messages, &theirs.messages]);
    if bounds.is_empty() {
        return Err("no connection between both was seen at both ends from its beginning on".to_owned());
    }
    if let Some(stated) = stated {
        let at_ns =
            other.source.window_ns.map_or(0, |w| w.0).max(bounds.iter().map(|b| b.at_ns).min().unwrap_or(0));
        let (offset, bound) = (i128::from(stated.offset_ns), i128::from(stated.bound_ns));
        bounds.push(Bound { at_ns, ahead_ns: offset + bound, most: true });
        bounds.push(Bound { at_ns, ahead_ns: offset - bound, most: false });
    }
    let clock = Clock::of(&bounds).ok_or_else(|| match stated {
        Some(_) => "their messages contradict the clock that was stated, or each other".to_owned(),
        None => "no steady clock obeys all of their messages: one was set within the window, or messages of one direction \
                 are missing"
            .to_owned(),
    })?;
    // A device of both machines has one name; what stands on it names it.
    let known: HashSet<String> = first.source.targets.iter().map(|t| t.name.clone()).collect();
    let named = |name: &str| if known.contains(name) { format!("{name} (server)") } else { name.to_owned() };
    for mut target in other.source.targets {
        target.dev |= DEVICES;
        target.entrance = target.entrance.map(|dev| dev | DEVICES);
        target.above = target.above.map(|above| named(&above));
        target.name = named(&target.name);
        first.source.targets.push(target);
    }
    for mut event in other.source.events {
        event.at_ns = clock.here(event.at_ns);
        event.dev |= DEVICES;
        event.pid = second(event.pid);
        let comm = other.source.names.name(event.comm).to_owned();
        event.comm = first.source.names.number(comm.as_bytes());
        first.source.events.push(event);
    }
    first.source.events.sort_by_key(|e| e.at_ns);
    way.marks.extend(theirs.marks.iter().map(|mark| shifted(mark, &clock)));
    way.marks.sort_by_key(|m| m.at_ns);
    way.messages.merge(std::mem::take(&mut theirs.messages));
    way.thread_names.join(&theirs.thread_names, second);
    first.source.whole &= other.source.whole;
    Ok((first, clock))
}

fn shifted(mark: &Mark, clock: &Clock) -> Mark {
    let mut mark = Mark { at_ns: clock.here(mark.at_ns), pid: second(mark.pid), ..*mark };
    match mark.what {
        What::Forked => mark.n = second(mark.n),
        What::Enter(..) | What::Exit => {}
        _ => mark.a ^= ADDRESSES,
    }
    mark
}

fn calls_of(marks: &[Mark]) -> Calls {
    let mut calls = Calls::default();
    marks.iter().for_each(|mark| calls.feed(mark));
    calls
}
