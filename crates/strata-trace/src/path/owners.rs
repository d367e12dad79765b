//! Which requests, and which questions to others, a server makes for which question that it was asked.

use std::collections::{HashMap, HashSet};

use super::blocks::Blocks;
use super::calls::Calls;
use super::thread_names::ThreadNames;
use super::wire::Exchange;

/// Turns of one server that are looked at for one request.
const LOOK_BACK: usize = 1024;

/// A process and all that come from it, by who made whom.
#[must_use]
pub fn family(forks: &[(i32, i32)], first: i32) -> HashSet<i32> {
    let mut found = HashSet::new();
    if first > 0 {
        found.insert(first);
        // In time: who is made is made by somebody who is there.
        for (maker, made) in forks {
            if found.contains(maker) {
                found.insert(*made);
            }
        }
    }
    found
}

struct Turns<'a> {
    /// Of each process, by when they were heard.
    of: HashMap<i32, Vec<usize>>,
    /// What each process moved over sockets: (when, socket).
    moved: HashMap<i32, Vec<(u64, u64)>>,
    thread_names: &'a ThreadNames,
}

impl Turns<'_> {
    /// The turns that this belongs to: one, none, or several that it cannot be told of.
    fn around(&self, tid: i32, begin_ns: u64, end_ns: u64, exchanges: &[Exchange]) -> Vec<usize> {
        let group = self.thread_names.group(tid);
        let Some(turns) = self.of.get(&group) else { return Vec::new() };
        let behind = turns.partition_point(|t| exchanges[*t].heard_ns <= begin_ns);
        let near = turns[behind.saturating_sub(LOOK_BACK)..behind].iter().copied();
        let found: Vec<usize> = near.filter(|t| end_ns <= exchanges[*t].answered_ns).collect();
        let own =
            |t: &usize| exchanges[*t].server.is_some_and(|(heard, answered)| tid == heard || tid == answered);
        let by_thread: Vec<usize> = found.iter().copied().filter(own).collect();
        match (by_thread.len(), found.len()) {
            (1, _) => by_thread,
            // Another thread of the server made it: for this turn where it was asked nothing else meanwhile.
            (_, 1) if self.busy_elsewhere(group, &exchanges[found[0]]) => vec![found[0], found[0]],
            _ => found,
        }
    }

    fn busy_elsewhere(&self, group: i32, turn: &Exchange) -> bool {
        let moved = self.moved.get(&group).map_or(&[][..], Vec::as_slice);
        let from = moved.partition_point(|(at, _)| *at <= turn.heard_ns);
        let within = moved[from..].iter().take_while(|(at, _)| *at < turn.answered_ns);
        within.take(LOOK_BACK).any(|(_, socket)| *socket != turn.socket)
    }
}

/// Put requests and exchanges into the turns of servers. The numbers of the requests that are in one.
#[must_use]
pub fn assign(
    calls: &Calls,
    blocks: &Blocks,
    exchanges: &mut [Exchange],
    thread_names: &ThreadNames,
) -> HashSet<usize> {
    let mut turns = Turns { of: HashMap::new(), moved: HashMap::new(), thread_names };
    for (index, exchange) in exchanges.iter().enumerate() {
        if let Some((heard, _)) = exchange.server {
            turns.of.entry(thread_names.group(heard)).or_default().push(index);
        }
    }
    if turns.of.is_empty() {
        return HashSet::new();
    }
    for transfer in &calls.transfers {
        let group = thread_names.group(transfer.tid);
        if turns.of.contains_key(&group) {
            turns.moved.entry(group).or_default().push((transfer.at_ns, transfer.socket));
        }
    }
    turns.of.values_mut().for_each(|t| t.sort_by_key(|i| exchanges[*i].heard_ns));
    turns.moved.values_mut().for_each(|m| m.sort_unstable());
    let mut nested = HashSet::new();
    for (index, request) in calls.requests.iter().enumerate() {
        let reaches = request.blocks.iter().any(|(block, _)| blocks.all[*block].io.done_ns > 0);
        if request.end_ns == 0 || !(request.placed || reaches) {
            continue;
        }
        match turns.around(request.tid, request.begin_ns, request.over_ns(), exchanges)[..] {
            [] => {}
            [turn] => {
                exchanges[turn].requests.push(index);
                nested.insert(index);
            }
            ref several => {
                nested.insert(index);
                several.iter().for_each(|t| exchanges[*t].ambiguous = true);
            }
        }
    }
    for index in 0..exchanges.len() {
        let (client, asked, taken) =
            (exchanges[index].client, exchanges[index].asked_ns, exchanges[index].taken_ns);
        let mut around = turns.around(client, asked, taken, exchanges);
        around.retain(|turn| *turn != index);
        match around[..] {
            [] => {}
            [turn] => {
                exchanges[turn].exchanges.push(index);
                exchanges[index].nested = true;
            }
            ref several => {
                exchanges[index].nested = true;
                several.iter().for_each(|t| exchanges[*t].ambiguous = true);
            }
        }
    }
    nested
}
