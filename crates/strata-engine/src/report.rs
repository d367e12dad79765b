//! The result put together from what was collected.

use strata_hist::Histogram;

use crate::control::Reason;
use crate::cpu::Usage;
use crate::encode_histogram;
use crate::errno;
use crate::instants::Instants;
use crate::merge::{Merger, Sum, flushes, saturate};
use crate::outcome::{
    Cpu, Direction, Effective, EngineInfo, ErrorLine, Interval, Outcome, Service, StuckIo, Thread,
};
use crate::place;
use crate::record::{ErrorCount, Lane};
use crate::worker::Report;
use strata_pattern::Op;

/// Stuck I/Os of one thread that are named.
const MOST_STUCK: usize = 16;

/// What is known about the run as a whole.
pub struct Facts {
    pub engine: EngineInfo,
    pub effective: Effective,
    pub started_unix_ns: u64,
    pub instants: Instants,
    pub ramp_ns: u64,
    pub measured_ns: u64,
    pub stop_reason: Reason,
    /// Its name, for messages.
    pub endpoint: String,
    pub open_loop: bool,
    pub cpu: Usage,
    pub intervals: Vec<Interval>,
}

/// The result of a run.
pub fn outcome(facts: Facts, merger: &Merger, reports: &[Report]) -> Outcome {
    let sum = |of: fn(&Report) -> u64| reports.iter().map(of).sum::<u64>();
    let run_delay_ns = reports.iter().map(|r| r.usage.run_delay_ns).sum::<Option<u64>>();
    let direction = |total: &Sum, numbers: &[usize]| {
        let lanes: Vec<&Lane> =
            numbers.iter().flat_map(|&n| reports.iter().filter_map(move |r| r.lanes.get(n))).collect();
        Direction {
            ops: total.ops,
            bytes: total.bytes,
            errors: errors(&lanes),
            service_time: encode_histogram(&total.service),
            response_time: facts.open_loop.then(|| encode_histogram(&all(lanes.iter().map(|l| &l.response)))),
            submit_latency: encode_histogram(&all(lanes.iter().map(|l| &l.submit))),
            service_sum_ns: saturate(total.service.sum_ns()),
            clamped: total.service.clamped(),
        }
    };
    Outcome {
        schema: 1,
        read: direction(&merger.totals[0], &[0]),
        write: direction(&merger.totals[1], &[1]),
        sync: flushes(&merger.totals).map(|total| direction(&total, &[2, 3])),
        stuck_ios: reports.iter().flat_map(stuck).collect(),
        issued: sum(|r| r.tally.issued),
        completed: sum(|r| r.tally.completed),
        errored: sum(|r| r.tally.errored),
        stuck: sum(|r| r.tally.stuck),
        threads: reports.iter().map(|r| thread(r, &merger.threads[r.thread as usize])).collect(),
        cpu: Cpu { user_ns: facts.cpu.user_ns, system_ns: facts.cpu.system_ns, run_delay_ns },
        lag: facts.open_loop.then(|| encode_histogram(&all(reports.iter().map(|r| &r.lag)))),
        engine: facts.engine,
        effective: facts.effective,
        started_unix_ns: facts.started_unix_ns,
        instants: facts.instants,
        ramp_ns: facts.ramp_ns,
        measured_ns: facts.measured_ns,
        stop_reason: facts.stop_reason,
        message: trouble(&facts.endpoint, reports),
        intervals: facts.intervals,
    }
}

fn all<'a>(parts: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut whole = Histogram::new();
    parts.for_each(|part| whole.merge(part));
    whole
}

/// Why the run ended before its time: the transport was lost, or an I/O failed that ends the run. In the words of
/// the first thread that saw it, with the endpoint's name.
fn trouble(endpoint: &str, reports: &[Report]) -> Option<String> {
    let lost = reports.iter().find_map(|r| r.transport.as_ref().err()).map(ToString::to_string);
    let failed = || reports.iter().find_map(|r| r.tally.fatal);
    let hung = || reports.iter().flat_map(|r| &r.stuck).max_by_key(|stuck| stuck.age_ns);
    let text = lost
        .or_else(|| failed().map(|(errno, at)| format!("an I/O at byte {at} failed: {}", errno::name(errno))))
        .or_else(|| {
            hung().map(|s| {
                let (at, bytes, age) = (s.io.offset(), s.io.len(), s.age_ns / 1_000_000);
                format!("an I/O of {bytes} bytes at byte {at} did not complete within {age} ms")
            })
        })?;
    Some(if text.contains(endpoint) { text } else { format!("{endpoint}: {text}") })
}

fn errors(lanes: &[&Lane]) -> Vec<ErrorLine> {
    let mut lines: Vec<ErrorLine> = Vec::new();
    for &ErrorCount { errno, count, first_offset } in lanes.iter().flat_map(|lane| &lane.failures) {
        match lines.iter_mut().find(|line| line.errno == errno) {
            Some(line) => line.count += count,
            None => lines.push(ErrorLine { errno, name: errno::name(errno), count, first_offset }),
        }
    }
    lines
}

fn stuck(report: &Report) -> impl Iterator<Item = StuckIo> + '_ {
    report.stuck.iter().take(MOST_STUCK).map(|stuck| StuckIo {
        thread: report.thread,
        op: match stuck.io.op() {
            Op::Read => "read",
            Op::Write => "write",
            Op::Fsync => "fsync",
            Op::Fdatasync => "fdatasync",
        },
        target: stuck.io.target(),
        offset: stuck.io.offset(),
        len: stuck.io.len(),
        age_ns: stuck.age_ns,
    })
}

fn thread(report: &Report, times: &Histogram) -> Thread {
    let service = times.quantile_ns(0.5).zip(times.quantile_ns(0.99)).zip(times.max_ns());
    let count = |lane: usize| report.lanes.get(lane).map_or((0, 0), |lane| (lane.ops, lane.moved));
    Thread {
        read_ops: count(0).0,
        write_ops: count(1).0,
        read_bytes: count(0).1,
        write_bytes: count(1).1,
        service: service.map(|((p50_ns, p99_ns), max_ns)| Service {
            mean_ns: times.sum_ns() as f64 / times.count() as f64,
            p50_ns,
            p99_ns,
            max_ns,
        }),
        user_ns: report.usage.user_ns,
        system_ns: report.usage.system_ns,
        voluntary_switches: report.usage.voluntary,
        involuntary_switches: report.usage.involuntary,
        run_delay_ns: report.usage.run_delay_ns,
        pinned: report.pinned.as_deref().map(place::list),
        cpus: place::list(&report.placement.cpus),
        memory: report.placement.memory,
    }
}
