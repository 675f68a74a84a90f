//! What statistics cost: one micro-benchmark by its name, for `tare perfcheck crates/stats` (`bench.yaml`).
//!
//! Prints the smallest time of many batches, ns per operation. Nothing is measured by ./test.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use tare_stats::change_points::{self, Options};
use tare_stats::distribution::Contrasts;
use tare_stats::random::Random;
use tare_stats::{Latencies, Range};

/// Time of a measurement.
const TIME: Duration = Duration::from_millis(300);

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    let mut random = Random::from_seed(1);
    let values: Vec<u64> = (0..1000)
        .map(|_| (1e5 * random.exponential()) as u64 + 1)
        .collect();
    let mut latencies = Latencies::new(Range::default()).unwrap();
    for value in &values {
        latencies.record(*value);
    }
    let series: Vec<f64> = (0..50).map(|_| 100.0 + random.normal()).collect();
    let ns = match name.as_str() {
        "record" => {
            let mut into = Latencies::new(Range::default()).unwrap();
            smallest(values.len(), || {
                for value in &values {
                    into.record(black_box(*value));
                }
            })
        }
        "merge" => {
            let mut into = Latencies::new(Range::default()).unwrap();
            smallest(1, || into.merge(black_box(&latencies)).unwrap())
        }
        "quantile" => smallest(1, || {
            black_box(latencies.quantile(black_box(0.99)));
        }),
        "random" => smallest(1000, || {
            for _ in 0..1000 {
                black_box(random.bits());
            }
        }),
        "change-points" => smallest(1, || {
            black_box(change_points::find(black_box(&series), &Options::default()).unwrap());
        }),
        "dunnett" => smallest(1, || {
            let contrasts = Contrasts {
                arms: black_box(3),
                degrees: 12.0,
                correlation: 0.5,
            };
            black_box(contrasts.critical(0.05));
        }),
        _ => panic!("record, merge, quantile, random, change-points or dunnett"),
    };
    println!("{{\"ns\": {ns:.3}}}");
}

/// The smallest time of a batch, per operation; a batch has this many.
fn smallest(operations: usize, mut batch: impl FnMut()) -> f64 {
    let began = Instant::now();
    let mut smallest = f64::INFINITY;
    // Short operations are timed together: a clock reading takes as long.
    let mut times = 1_u32;
    while began.elapsed() < TIME {
        let start = Instant::now();
        for _ in 0..times {
            batch();
        }
        let took = start.elapsed();
        if took < Duration::from_micros(20) {
            times *= 2;
        } else {
            smallest = smallest.min(took.as_nanos() as f64 / f64::from(times) / operations as f64);
        }
    }
    smallest
}
