//! What the next I/O costs, for each pattern: `cargo run --release -p strata-engine --example draw_cost`.
//!
//! Each figure is the median of 31 batches, in ns of wall time for one draw; batches of all patterns take turns, so
//! that a busy moment of the machine meets them alike.

use std::hint::black_box;
use std::time::Instant;

use strata_pattern::{
    Access, Area, BlockMap, Cut, DataGenerator, DataReduction, Flush, Mix, Op, Order, Pattern, Segment, Size,
    Sizes, Span, Stamper, Stride, Zone, fill_incompressible,
};

const BATCHES: usize = 31;
const DRAWS: u32 = 64 * 4096;
const BLOCK: u64 = 4096;
const BLOCKS: u64 = 1 << 22;

fn map(segments: u64, step: u64, length: u64) -> BlockMap {
    let each = BLOCKS * BLOCK / segments;
    let segments: Vec<Segment> =
        (0..segments).map(|n| Segment { start: n * each, length: each, target: (2 * n) * each }).collect();
    BlockMap::cut(&segments, Cut { step, length, shift: 0 }).expect("blocks")
}

fn plain(order: Order, mix: Mix) -> Pattern {
    Pattern::new(map(1, BLOCK, BLOCK), order, mix, 1)
}

fn patterns() -> Vec<(&'static str, Pattern)> {
    let split = [(1u64, 60), (2, 30), (16, 10)]
        .map(|(blocks, weight)| Size { bytes: (blocks * BLOCK) as u32, weight })
        .to_vec();
    let sizes = Sizes { read: split.clone(), write: split };
    let areas = |n: u32| (0..n).map(|weight| Area::new(map(1, BLOCK, BLOCK), weight + 1)).collect();
    let stride = Stride { stride: Some(2 * BLOCK), thread_offset: Some(BLOCK) };
    let zone = |access, percent| Zone { access, span: Span::Percent(percent) };
    let flush = Some(Flush { op: Op::Fdatasync, every: 32 });
    let fragmented = Pattern::new(map(1000, BLOCK, BLOCK), Order::Random, Mix::Read, 1);
    let over = |areas, order| Pattern::over(areas, order, Sizes::one(BLOCK as u32), Mix::Read, 1);
    let split_over = vec![Area::new(map(1, BLOCK, 16 * BLOCK), 1)];
    vec![
        ("sequential", plain(Order::Sequential, Mix::Read)),
        ("sequential, stride and thread offset", plain(Order::Strided(stride), Mix::Read)),
        ("interlocked sequential (drawn one at a time)", plain(Order::Interlocked, Mix::Read)),
        ("random, uniform", plain(Order::Random, Mix::Read)),
        ("random, uniform, 1000 extents", fragmented),
        ("random, each block once", plain(Order::Once, Mix::Read)),
        ("random, zipf 1.2", plain(Order::Zipf(1.2), Mix::Read)),
        ("random, zipf 0.8", plain(Order::Zipf(0.8), Mix::Read)),
        ("random, hot 90/10", plain(Order::Zones(vec![zone(90.0, 10.0)]), Mix::Read)),
        ("random, uniform, 70/30", plain(Order::Random, Mix::ReadPercent(70))),
        ("random, uniform, 70/30 in bursts of 8", plain(Order::Random, Mix::Bursts(70, 8))),
        ("random, uniform, 3 sizes", Pattern::over(split_over, Order::Random, sizes, Mix::Read, 1)),
        ("random, uniform, 4 targets", over(areas(4), Order::Random)),
        ("random, uniform, 64 targets", over(areas(64), Order::Random)),
        ("random write, flush every 32", Pattern { flush, ..plain(Order::Random, Mix::Write) }),
    ]
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let mut made: Vec<(&str, Access, Vec<f64>)> = patterns()
        .into_iter()
        .map(|(name, pattern)| (name, pattern.access(0, 1).expect("blocks"), Vec::new()))
        .collect();
    for _ in 0..BATCHES {
        for (_, access, times) in &mut made {
            let begun = Instant::now();
            for _ in 0..DRAWS {
                black_box(access.draw());
            }
            times.push(begun.elapsed().as_nanos() as f64 / f64::from(DRAWS));
        }
    }
    println!("| pattern | ns a draw |\n|---|---|");
    for (name, _, times) in made {
        println!("| {name} | {:.1} |", median(times));
    }

    println!("\n| data of a write of 4 KiB | ns a write |\n|---|---|");
    let mut buffer = vec![0u8; BLOCK as usize];
    fill_incompressible(&mut buffer, &mut strata_pattern::Rng::new(1, 0));
    let mut stamper = Stamper::new(1, 0);
    let like = |compress_percent, dedupe_percent| {
        DataGenerator::new(DataReduction { compress_percent, dedupe_percent }, 1, 0)
    };
    let mut makers =
        [("all anew", like(0, 0)), ("half of it to save", like(50, 0)), ("half of it repeats", like(0, 50))];
    let writes = 8192u32;
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); 1 + makers.len()];
    for _ in 0..BATCHES {
        let mut clocked = |times: &mut Vec<f64>, make: &mut dyn FnMut(&mut [u8])| {
            let begun = Instant::now();
            (0..writes).for_each(|_| make(black_box(&mut buffer)));
            times.push(begun.elapsed().as_nanos() as f64 / f64::from(writes));
        };
        clocked(&mut times[0], &mut |buffer| stamper.stamp(buffer));
        for ((_, generator), times) in makers.iter_mut().zip(&mut times[1..]) {
            clocked(times, &mut |buffer| generator.make(buffer));
        }
    }
    let names = ["the default: random bytes combined with a fresh value"]
        .into_iter()
        .chain(makers.iter().map(|(name, _)| *name));
    for (name, times) in names.zip(times) {
        println!("| {name} | {:.0} |", median(times));
    }
}
