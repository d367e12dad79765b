//! `strata-micro [--fast]`: what cannot be seen from outside the engine, as one JSON line.
//!
//! - `histogram_error`: largest |middle of its bucket − value| / value over values of the whole range.
//! - `histogram_ns`: user ns of one record, smallest of several repetitions (what disturbs can only add).
//! - `merge_exact`: histograms of parts, merged, equal the histogram of the whole.
//! - `rates`: relative error of the schedules' mean rate. Poisson is driven with evenly spread random numbers instead
//!   of random ones, so that what remains is the schedule's own error and no chance.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use strata_hist::{Histogram, highest_equivalent, index_of, lowest_equivalent};
use strata_pace::Schedule;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let fast = match words.as_slice() {
        [] => false,
        [word] if word == "--fast" => true,
        _ => {
            eprintln!("usage: strata-micro [--fast]");
            return ExitCode::from(2);
        }
    };
    let (values, repetitions) = if fast { (1 << 16, 5) } else { (1 << 20, 200) };
    let rates: Vec<_> = [1e3, 2e4, 2e5]
        .into_iter()
        .map(|iops| {
            let constant = constant_error(iops, values);
            let poisson = poisson_error(iops, values);
            serde_json::json!({"iops": iops, "constant": constant, "poisson": poisson})
        })
        .collect();
    let line = serde_json::json!({
        "histogram_error": worst_error(),
        "histogram_ns": record_ns(values, repetitions),
        "merge_exact": merge_is_exact(),
        "rates": rates,
    });
    println!("{line}");
    ExitCode::SUCCESS
}

/// Numbers that look like times of I/Os: most of them between half a µs and 8 µs, some far beyond.
fn times(n: usize) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bits = state >> 33;
            let scale = if bits & 0xff == 0 { 1 << 14 } else { 1 + (bits & 3) };
            (500 + (bits >> 8) % 1500) * scale
        })
        .collect()
}

fn worst_error() -> f64 {
    // Every value up to 2^16, and from there on steps far finer than a bucket.
    let mut value = 1u64;
    let mut worst = 0.0f64;
    while value < 3_000_000_000_000 {
        let index = index_of(value);
        let middle = lowest_equivalent(index).midpoint(highest_equivalent(index));
        worst = worst.max(middle.abs_diff(value) as f64 / value as f64);
        value += if value < 1 << 16 { 1 } else { (value >> 14) | 1 };
    }
    worst
}

fn record_ns(values: usize, repetitions: u32) -> f64 {
    let times = times(1 << 12);
    let mut best = f64::INFINITY;
    for _ in 0..repetitions {
        // Where the compiler cannot keep its words in registers, as in a loop that also does I/O.
        let mut histogram = black_box(Box::new(Histogram::new()));
        let begun = Instant::now();
        for _ in 0..values >> 12 {
            // Not each value: passing it through memory would cost a third of what is measured.
            for &time in black_box(&times) {
                histogram.record(time);
            }
        }
        let spent = begun.elapsed().as_nanos() as f64;
        black_box(&histogram);
        best = best.min(spent / histogram.count().max(1) as f64);
    }
    best
}

fn merge_is_exact() -> bool {
    let times = times(100_000);
    let mut whole = Histogram::new();
    times.iter().for_each(|&time| whole.record(time));
    let mut merged = Histogram::new();
    for part in times.chunks(999) {
        let mut histogram = Histogram::new();
        part.iter().for_each(|&time| histogram.record(time));
        merged.merge(&histogram);
    }
    merged == whole
}

fn constant_error(iops: f64, n: usize) -> f64 {
    let schedule = Schedule::constant(iops, 0, 1);
    let span_ns = schedule.start_ns(n as u64, 0.0, || 0) - schedule.start_ns(0, 0.0, || 0);
    n as f64 * 1e9 / span_ns / iops - 1.0
}

fn poisson_error(iops: f64, n: usize) -> f64 {
    let schedule = Schedule::poisson(iops, 1);
    let step = u64::MAX / n as u64;
    let (mut total_ns, mut at_ns) = (0.0, 0.0);
    for i in 0..n as u64 {
        let next_ns = schedule.start_ns(i + 1, at_ns, || step * i + step / 2);
        total_ns += next_ns - at_ns;
        at_ns = next_ns;
    }
    n as f64 * 1e9 / total_ns / iops - 1.0
}
