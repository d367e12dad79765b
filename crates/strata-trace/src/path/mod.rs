//! Where the time of one request goes: from the system call, or the question to a server, down to the device and back.
//!
//! [`calls`] and [`blocks`] put events together, [`wire`] pairs both ends of a connection by the places of their bytes
//! ([`stream`]) or in turns, [`owners`] finds what belongs to what, [`tree`] divides a request's time among its layers, [`figures`] sums them up. Nothing is guessed: what has no
//! certain place is counted in [`figures::Missing`]. Pure but for [`thread_names`], which reads them.

pub mod blocks;
pub mod calls;
pub mod clocks;
pub mod figures;
pub mod join;
pub mod owners;
pub mod stream;
pub mod thread_names;
pub mod tree;
pub mod wire;

use crate::device::TracedDevice;
use crate::event::Event;
use crate::mark::{Mark, What};
use crate::message::Messages;
use crate::saved::PathRecord;
use crate::summary::Source;

use blocks::Blocks;
use calls::Calls;
use clocks::Clock;
use figures::Waterfall;
use thread_names::ThreadNames;

/// What a waterfall is made of.
pub struct Traced<'a> {
    /// The devices, upper before lower.
    pub targets: &'a [TracedDevice],
    /// Events of the block layer, in time.
    pub events: &'a [Event],
    /// The others, in time.
    pub marks: &'a [Mark],
    /// Questions and replies whose headers were read.
    pub messages: &'a Messages,
    /// Who the threads are.
    pub thread_names: &'a ThreadNames,
    /// A process whose requests are followed, with those of all that it starts; 0: everybody's who reaches the devices.
    pub follow: i32,
    /// When the window began.
    pub began_ns: u64,
    /// Where a second machine's events are among them ([`join`]): its clock.
    pub clock: Option<&'a Clock>,
}

impl<'a> Traced<'a> {
    /// Of a recording whose events are in time.
    #[must_use]
    pub fn of(source: &'a Source, way: &'a PathRecord, began_ns: u64) -> Self {
        Self {
            targets: &source.targets,
            events: &source.events,
            marks: &way.marks,
            messages: &way.messages,
            thread_names: &way.thread_names,
            follow: way.follow,
            began_ns,
            clock: None,
        }
    }
}

/// Follow every request of the window.
#[must_use]
pub fn waterfall(traced: &Traced<'_>) -> Waterfall {
    let (mut calls, mut blocks) = (Calls::default(), Blocks::new(traced.targets));
    let mut events = traced.events.iter().peekable();
    for mark in traced.marks {
        // At one time a call begins before its I/O, and ends after it.
        let early = !matches!(mark.what, What::Exit | What::Done);
        while let Some(event) = events.next_if(|e| e.at_ns < mark.at_ns || (!early && e.at_ns == mark.at_ns))
        {
            blocks.feed(event, &mut calls);
        }
        calls.feed(mark);
    }
    for event in events {
        blocks.feed(event, &mut calls);
    }
    blocks.nest();
    let done = |index: usize| Some(blocks.all[index].io.done_ns).filter(|at| *at > 0);
    calls.finish_aio(done);
    let ours = owners::family(&calls.forks, traced.follow);
    let (mut exchanges, omitted) = wire::exchanges(&calls, traced.messages, &ours);
    let nested = owners::assign(&calls, &blocks, &mut exchanges, traced.thread_names);
    figures::sum(traced, &calls, &blocks, &exchanges, &figures::Known { ours, nested, omitted })
}
