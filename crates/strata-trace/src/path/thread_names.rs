//! Who the threads are: their names and the processes they belong to.

use std::collections::HashMap;
use std::fs;

use serde::{Deserialize, Serialize};

/// Threads that are looked up; those after them keep their number alone.
const MOST: usize = 8192;
/// Looks at one thread, each twice as many rounds of reading after the one before: it may be another program a moment
/// after it was made.
const LOOKS: u8 = 8;

/// Threads that were met.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadNames {
    known: HashMap<i32, Person>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Person {
    group: i32,
    name: String,
    #[serde(skip)]
    looks: u8,
    #[serde(skip)]
    next: u64,
}

impl ThreadNames {
    /// Look up in `/proc` who a thread is, while it is there. `round`: which time the buffers are read.
    pub fn meet(&mut self, tid: i32, round: u64) {
        let room = self.known.len() < MOST;
        if tid <= 0 || (!room && !self.known.contains_key(&tid)) {
            return;
        }
        let person = self.known.entry(tid).or_default();
        if person.looks >= LOOKS || round < person.next {
            return;
        }
        person.looks += 1;
        person.next = round + (1 << person.looks);
        let Ok(text) = fs::read_to_string(format!("/proc/{tid}/status")) else { return };
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        person.group = value("Tgid:").and_then(|n| n.parse().ok()).unwrap_or(tid);
        value("Name:").unwrap_or_default().clone_into(&mut person.name);
    }

    /// As `meet`, by hand.
    pub fn put(&mut self, tid: i32, group: i32, name: &str) {
        self.known.insert(tid, Person { group, name: name.to_owned(), looks: LOOKS, next: 0 });
    }

    /// Those of another machine, with other numbers.
    pub fn join(&mut self, others: &Self, number: impl Fn(i32) -> i32) {
        for (tid, person) in &others.known {
            self.put(number(*tid), if person.group > 0 { number(person.group) } else { 0 }, &person.name);
        }
    }

    /// The process of a thread; its own number where it is not known.
    #[must_use]
    pub fn group(&self, tid: i32) -> i32 {
        self.known.get(&tid).map(|p| p.group).filter(|g| *g > 0).unwrap_or(tid)
    }

    /// Its name; empty where it is not known.
    #[must_use]
    pub fn name(&self, tid: i32) -> &str {
        self.known.get(&tid).map_or("", |p| p.name.as_str())
    }
}
