//! The timing model, held to by a clock that only moves when the script says so.

use std::io;
use std::rc::Rc;

use proptest::prelude::*;
use strata_hist::Histogram;
use strata_pace::{Limits, Schedule, Throttle};
use strata_pattern::{Mix, Rng};

use crate::control::{Control, Reason};
use crate::decode_histogram;
use crate::pace::{Closed, Open};
use crate::scripted::{BLOCK, FakeClock, Played, SETTING, Scripted, ScriptedResult, Setting, play, takes};

const MS: u64 = 1_000_000;

fn free() -> Rc<Control> {
    Rc::new(Control::new(None, 1, 1))
}

fn only(value_ns: u64, count: u64) -> Histogram {
    let mut h = Histogram::new();
    (0..count).for_each(|_| h.record(value_ns));
    h
}

/// A closed loop from instant 0, whose submit calls cost nothing.
fn closed(setting: Setting, script: impl FnMut(u64, u64) -> io::Result<ScriptedResult>) -> Played {
    play(setting, Closed, &free(), Scripted::new(&FakeClock::default(), 0, script))
}

fn connection_lost() -> io::Error {
    io::Error::from_raw_os_error(libc::ECONNRESET)
}

#[test]
fn service_time_is_the_submit_call_and_the_latency_and_nothing_else() {
    let clock = FakeClock::default();
    clock.pass(12_345);
    // Making the data of each write takes 7 ms here; the I/O takes 300 ns to hand over and 1 ms to do.
    let setting = Setting { mix: Mix::Write, fill_ns: 7 * MS, runtime_ns: 10_000 * MS, ..SETTING };
    let played = play(setting, Closed, &free(), Scripted::new(&clock, 300, |_, _| Ok(takes(MS))));
    let n = played.merger.totals[1].ops;
    // 10 s / (7 ms + 300 ns + 1 ms): the last one ends beyond the end.
    assert_eq!(n, 1249);
    assert_eq!(played.merger.totals[1].service, only(MS + 300, n));
    assert_eq!(played.merger.totals[0].service, Histogram::new());
    // One in 64 is split, and gives the submit call alone.
    assert_eq!(played.recorder.lanes[1].submit, only(300, n.div_ceil(64)));
    assert_eq!(played.recorder.lag, Histogram::new());
    // The first one was handed over when its data was made.
    assert_eq!(played.tally.first_ns, 12_345 + 7 * MS);
}

#[test]
fn a_deep_queue_is_kept_full_and_each_io_is_timed_alone() {
    let setting = Setting { depth: 4, batch: 2, ..SETTING };
    // Even ones take 1 ms, odd ones 3 ms; handing over is free.
    let script = |n: u64, _| Ok(takes(if n.is_multiple_of(2) { MS } else { 3 * MS }));
    let played = closed(setting, script);
    let service = &played.merger.totals[0].service;
    let seen: Vec<u64> = service.buckets().map(|(index, _)| strata_hist::highest_equivalent(index)).collect();
    assert_eq!(seen.len(), 2, "two latencies, two buckets: {seen:?}");
    // Little's law on the fake clock: ops × mean = depth × time, up to what is in flight at the end.
    let occupancy = service.sum_ns() as f64 / 1e9;
    assert!((3.9..=4.0).contains(&occupancy), "{occupancy}");
}

#[test]
fn open_loop_counts_a_stall_from_the_intended_start() {
    let clock = FakeClock::default();
    let setting = Setting { runtime_ns: 10_000 * MS, ..SETTING };
    let pace = || Open::new(Schedule::constant(1000.0, 0, 1), Rng::new(1, 1));
    // I/O 2000 stalls for a second; all others take 0.1 ms.
    let script = |n: u64, _| Ok(takes(if n == 2000 { 1000 * MS } else { MS / 10 }));
    let played = play(setting, pace(), &free(), Scripted::new(&clock, 0, script));
    let response = &played.recorder.lanes[0].response;
    assert_eq!(played.merger.totals[0].ops, 10_000, "nothing that was late is skipped");
    assert_eq!(response.count(), 10_000);
    // The backlog of 1000 I/Os melts at 0.9 ms an I/O: about 11 % of all are late.
    let p99 = response.quantile_ns(0.99).expect("not empty");
    assert!((850 * MS..1001 * MS).contains(&p99), "{p99}");
    assert_eq!(played.merger.totals[0].service.quantile_ns(0.99), Some(MS / 10 + (64 - MS / 10 % 64) - 1));
    assert_eq!(played.recorder.lag.max_ns(), Some(999 * MS));
    // And without a stall, response is service, and the lag is nothing.
    let clock = FakeClock::default();
    let script = |_, _| Ok(takes(MS / 10));
    let played = play(setting, pace(), &free(), Scripted::new(&clock, 0, script));
    assert_eq!(played.recorder.lanes[0].response, only(MS / 10, 10_000));
    assert_eq!(played.recorder.lag, only(0, 10_000));
}

#[test]
fn the_ramp_and_the_drain_are_not_counted() {
    let setting =
        Setting { depth: 2, ramp_ns: 100 * MS, runtime_ns: 50 * MS, interval_ns: 20 * MS, ..SETTING };
    // Slow in the ramp and after the end, fast between.
    let script = |_, now: u64| Ok(takes(if (100 * MS..150 * MS).contains(&now) { MS } else { 10 * MS }));
    let played = closed(setting, script);
    // Two of the ramp complete exactly at its end and are counted; those that complete at 150 ms are not.
    assert_eq!(played.merger.totals[0].ops, 2 + 2 * 49);
    assert_eq!(played.tally.issued, 2 * 10 + 2 * 50);
    assert_eq!(played.tally.completed, played.tally.issued);
    let spans: Vec<(u64, u64)> = played.intervals.iter().map(|i| (i.start_ns / MS, i.end_ns / MS)).collect();
    assert_eq!(spans, [(0, 20), (20, 40), (40, 50)]);
}

#[test]
fn what_never_comes_back_is_stuck_and_does_not_hang() {
    let setting = Setting { depth: 3, ..SETTING };
    let script =
        |n: u64, _| Ok(if n == 7 { ScriptedResult { latency_ns: None, result: 0 } } else { takes(MS) });
    let played = closed(setting, script);
    assert_eq!(played.tally.stuck, 1);
    // Handed over at 2 ms (the third batch of a depth of 3), given up 30 s after the end of the run.
    let ages: Vec<u64> = played.stuck.iter().map(|s| s.age_ns / MS).collect();
    assert_eq!(ages, [1000 - 2 + 30_000]);
    assert_eq!(played.intervals.len(), 10);
}

#[test]
fn a_ceiling_holds_back_and_pauses_begin_when_the_burst_is_done() {
    let clock = FakeClock::default();
    let ceiling = Throttle::new(Limits { ns_per_io: 4e6, ..Limits::default() });
    let setting = Setting { depth: 4, ..SETTING };
    let played = play(setting, ceiling, &free(), Scripted::new(&clock, 0, |_, _| Ok(takes(MS))));
    // 250 a second, each in the ms after its start: a closed loop, so nothing waits and nothing is late.
    assert_eq!(played.merger.totals[0].ops, 250);
    assert_eq!(played.merger.totals[0].service, only(MS, 250));
    assert_eq!((played.recorder.lag.count(), played.recorder.lanes[0].response.count()), (0, 0));

    let clock = FakeClock::default();
    let thinking = Throttle::new(Limits { burst: 8, think_ns: 98 * MS, ..Limits::default() });
    // Eight by a depth of four are two ms, then 98 ms of thought: ten bursts in a second.
    let played = play(setting, thinking, &free(), Scripted::new(&clock, 0, |_, _| Ok(takes(MS))));
    assert_eq!((played.merger.totals[0].ops, played.tally.issued), (80, 80));
}

#[test]
fn a_full_target_ends_the_run_with_what_was_measured() {
    let setting = Setting { mix: Mix::Write, ..SETTING };
    let script = |n: u64, _| {
        Ok(if n < 100 { takes(MS) } else { ScriptedResult { latency_ns: Some(MS), result: -libc::ENOSPC } })
    };
    let played = closed(setting, script);
    assert_eq!((played.merger.totals[1].ops, played.merger.totals[1].errors), (100, 1));
    assert_eq!(played.control.why(), Some(Reason::Error));
    let failure = played.recorder.lanes[1].failures[0];
    assert_eq!((failure.errno, failure.count), (libc::ENOSPC, 1));
    assert_eq!(played.tally.end_ns, 101 * MS);
}

#[test]
fn errors_and_short_transfers_are_counted_apart() {
    let script = |n: u64, _| {
        let result = [BLOCK as i32, -libc::EIO, 512][(n % 3) as usize];
        Ok(ScriptedResult { latency_ns: Some(MS), result })
    };
    let played = closed(SETTING, script);
    assert_eq!((played.merger.totals[0].ops, played.merger.totals[0].errors), (333, 666));
    let kinds: Vec<(i32, u64)> =
        played.recorder.lanes[0].failures.iter().map(|f| (f.errno, f.count)).collect();
    assert_eq!(kinds, [(libc::EIO, 333), (0, 333)]);
    assert_eq!(played.merger.totals[0].service.count(), 333);
}

#[test]
fn a_stop_request_ends_it_there() {
    let clock = FakeClock::default();
    let control = free();
    let asked = Rc::clone(&control);
    let script = move |n: u64, now| {
        if n == 500 {
            asked.stop(Reason::Stopped, now);
        }
        Ok(takes(MS))
    };
    let played = play(SETTING, Closed, &control, Scripted::new(&clock, 0, script));
    assert_eq!((played.merger.totals[0].ops, played.tally.end_ns), (500, 500 * MS));
    assert_eq!(played.tally.completed, 501);
    assert_eq!(control.why(), Some(Reason::Stopped));
}

#[test]
fn a_limit_is_met_exactly_and_its_last_io_is_counted() {
    for (depth, limit) in [(1, 1), (4, 10), (32, 1000), (32, 5)] {
        let clock = FakeClock::default();
        let control = Rc::new(Control::new(Some(limit), 1, 1));
        let setting = Setting { depth, ..SETTING };
        let played = play(setting, Closed, &control, Scripted::new(&clock, 10, |n, _| Ok(takes(MS + n % 7))));
        assert_eq!((played.merger.totals[0].ops, played.tally.issued), (limit, limit), "depth {depth}");
        assert!(played.tally.end_ns < 1000 * MS);
    }
}

#[test]
fn what_came_back_before_the_transport_was_lost_did_complete() {
    let setting = Setting { depth: 4, batch: 4, ..SETTING };
    // Three of four are done at once; handing over the fourth finds the transport gone.
    let script = |n: u64, _| {
        if n < 3 { Ok(takes(0)) } else { Err(connection_lost()) }
    };
    let played = closed(setting, script);
    assert_eq!((played.tally.completed, played.tally.errored, played.tally.stuck), (3, 1, 0));
    assert_eq!((played.merger.totals[0].ops, played.merger.totals[0].errors), (0, 1));
}

#[test]
fn what_is_lost_in_the_drain_is_failed_and_not_stuck() {
    let clock = FakeClock::default();
    let setting = Setting { depth: 2, runtime_ns: 100 * MS, ..SETTING };
    let mut queue = Scripted::new(&clock, 0, |_, _| Ok(takes(5_000 * MS)));
    queue.lost_at_ns = 300 * MS;
    let played = play(setting, Closed, &free(), queue);
    assert!(played.outcome.is_err());
    assert_eq!((played.tally.errored, played.tally.stuck), (2, 0));
    assert_eq!(played.merger.totals[0].errors, 0, "the measured span was over");
}

#[test]
fn a_lost_transport_leaves_the_sums_in_balance() {
    let setting = Setting { depth: 4, ..SETTING };
    let script = |n: u64, _| {
        if n < 100 { Ok(takes(MS + n)) } else { Err(connection_lost()) }
    };
    let played = closed(setting, script);
    assert!(played.outcome.is_err());
    assert_eq!(played.tally.errored, 4);
    assert_eq!(played.merger.totals[0].errors, 4);
    assert_eq!(played.recorder.lanes[0].failures[0].errno, libc::ECONNRESET);
}

proptest! {
    #[test]
    fn intervals_add_up_to_the_totals(
        latencies in prop::collection::vec(1u64..30 * MS, 1..50), depth in 1u32..9, batch in 1u32..9,
        ramp_ms in 0u64..40, runtime_ms in 1u64..300, interval_ms in 1u64..60, submit_ns in 0u64..1000,
        fail_every in 2u64..20, open in any::<bool>(),
    ) {
        let clock = FakeClock::default();
        let setting = Setting {
            depth, batch, mix: Mix::ReadPercent(60), ramp_ns: ramp_ms * MS, runtime_ns: runtime_ms * MS,
            interval_ns: interval_ms * MS, ..SETTING
        };
        let script = |n: u64, _| {
            let latency_ns = Some(latencies[n as usize % latencies.len()]);
            let result = if n % fail_every == 1 { -libc::EIO } else { BLOCK as i32 };
            Ok(ScriptedResult { latency_ns, result })
        };
        let queue = Scripted::new(&clock, submit_ns, script);
        let played = if open {
            play(setting, Open::new(Schedule::poisson(500.0, 1), Rng::new(1, 1)), &free(), queue)
        } else {
            play(setting, Closed, &free(), queue)
        };
        prop_assert_eq!(played.tally.stuck, 0);
        // Intervals tile the measured span.
        let ends: Vec<u64> = played.intervals.iter().map(|i| i.end_ns).collect();
        let starts: Vec<u64> = played.intervals.iter().map(|i| i.start_ns).collect();
        prop_assert_eq!(&starts[1..], &ends[..ends.len() - 1]);
        prop_assert_eq!((starts[0], ends[ends.len() - 1]), (0, runtime_ms * MS));
        for read in [true, false] {
            let of = |i: &crate::outcome::Interval| if read { i.read.clone() } else { i.write.clone() };
            let total = if read { &played.merger.totals[0] } else { &played.merger.totals[1] };
            let parts: Vec<_> = played.intervals.iter().map(of).collect();
            prop_assert_eq!(parts.iter().map(|d| d.ops).sum::<u64>(), total.ops);
            prop_assert_eq!(parts.iter().map(|d| d.errors).sum::<u64>(), total.errors);
            prop_assert_eq!(parts.iter().map(|d| u128::from(d.service_sum_ns)).sum::<u128>(), total.service.sum_ns());
            let mut merged = Histogram::new();
            for text in parts.iter().filter_map(|d| d.service_time.as_ref()) {
                merged.merge(&decode_histogram(text).expect("ours"));
            }
            prop_assert!(merged.buckets().eq(total.service.buckets()));
            prop_assert_eq!(parts.iter().map(|d| d.bytes).sum::<u64>(), total.ops * u64::from(BLOCK));
            let lane = if read { &played.recorder.lanes[0] } else { &played.recorder.lanes[1] };
            prop_assert_eq!(lane.failures.iter().map(|f| f.count).sum::<u64>(), total.errors);
            prop_assert_eq!((lane.ops, lane.moved), (total.ops, total.bytes));
            if open {
                prop_assert_eq!(lane.response.count(), total.ops);
                prop_assert!(lane.response.sum_ns() >= total.service.sum_ns());
            }
        }
    }
}
