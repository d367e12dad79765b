//! A trace in figures.

use serde::Serialize;

use crate::device::{Device, DeviceFigures, TracedDevice};
use crate::event::{Event, Names};

/// What is summed up: events of these devices, in any order.
pub struct Source {
    /// The devices.
    pub targets: Vec<TracedDevice>,
    /// The events; sorted here.
    pub events: Vec<Event>,
    /// Names of threads.
    pub names: Names,
    /// The window, ns of the trace's clock: its beginning and end; `None` to take it from the events.
    pub window_ns: Option<(u64, u64)>,
    /// Whether nothing was lost. Only then are requests that began before the window counted into depths.
    pub whole: bool,
}

/// What [`summarise`] gives.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The window.
    pub window_ns: u64,
    /// Events it holds.
    pub events: u64,
    /// Each device.
    pub devices: Vec<DeviceFigures>,
}

/// Sort the events by time and go through them once for each device.
#[must_use]
pub fn summarise(source: &mut Source) -> Figures {
    // Stable: events of one processor with one time keep their order.
    source.events.sort_by_key(|e| e.at_ns);
    let events = &source.events;
    let seen = (events.first().map_or(0, |e| e.at_ns), events.last().map_or(0, |e| e.at_ns));
    let (begin, end) = source.window_ns.unwrap_or(seen);
    let devices = source
        .targets
        .iter()
        .map(|target| {
            let mut device = through(target, 0, events);
            let before = device.unmatched();
            if before > 0 && source.whole {
                // Now that it is known how many there were, depths can count them from the beginning.
                device = through(target, before, events);
            }
            device.figures(&source.names, begin)
        })
        .collect();
    Figures { window_ns: end.saturating_sub(begin), events: events.len() as u64, devices }
}

fn through(target: &TracedDevice, before: u64, events: &[Event]) -> Device {
    let mut device = Device::new(target.clone(), before);
    for event in events {
        device.feed(event);
    }
    device
}
