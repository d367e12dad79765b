//! Which threads were at work, and how many at a time.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::event::{Event, Names};

/// Dispatches among which threads are counted.
pub const THREAD_WINDOW: usize = 16;
const THREADS_KEPT: usize = 4096;
const THREADS_TOLD: usize = 16;

/// A thread and what it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Thread {
    /// Its number.
    pub tid: i32,
    /// Its name.
    pub comm: String,
    /// I/Os that entered, or requests that were issued, while it ran.
    pub ios: u64,
}

/// Who was at work.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    ios: HashMap<i32, (u16, u64)>,
    window: Vec<i32>,
    windows: u64,
    distinct: u64,
    most: u64,
}

/// [`Threads`] in figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThreadFigures {
    /// How many different ones (4096 at most are told apart).
    pub threads: u64,
    /// The busiest of them.
    pub busiest: Vec<Thread>,
    /// Different ones among [`THREAD_WINDOW`] that follow each other, on average; absent without a whole window.
    pub per_window: Option<f64>,
    /// And at most.
    pub per_window_max: u64,
}

impl Threads {
    /// One more, by the thread of this event.
    pub fn feed(&mut self, event: &Event) {
        if self.ios.len() < THREADS_KEPT || self.ios.contains_key(&event.pid) {
            let entry = self.ios.entry(event.pid).or_insert((event.comm, 0));
            entry.1 += 1;
        }
        self.window.push(event.pid);
        if self.window.len() == THREAD_WINDOW {
            let distinct = self.window.drain(..).collect::<HashSet<_>>().len() as u64;
            self.windows += 1;
            self.distinct += distinct;
            self.most = self.most.max(distinct);
        }
    }

    /// In figures.
    #[must_use]
    pub fn figures(&self, names: &Names) -> ThreadFigures {
        let mut busiest: Vec<Thread> = self
            .ios
            .iter()
            .map(|(&tid, &(comm, ios))| Thread { tid, comm: names.name(comm).to_owned(), ios })
            .collect();
        busiest.sort_by_key(|t| (std::cmp::Reverse(t.ios), t.tid));
        let threads = busiest.len() as u64;
        busiest.truncate(THREADS_TOLD);
        ThreadFigures {
            threads,
            busiest,
            per_window: (self.windows > 0).then(|| self.distinct as f64 / self.windows as f64),
            per_window_max: self.most,
        }
    }
}
