//! Makes a directory of synthetic runs for `bench/history`: `many_runs DIR COUNT`.
//!
//! Each is a whole run of four arms, two rates and five blocks. A few are measured with other values and an update of the kernel
//! after two thirds; the others are copies of them, a day apart.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a tool of the benchmarks that says where it fails by panicking"
)]

#[path = "../tests/maker/mod.rs"]
#[allow(dead_code, reason = "tests use other parts of it")]
mod maker;

use std::path::Path;

use maker::{DAY, copy, measure_whole};
use serde_json::json;

/// Runs that are measured before the step, and after it.
const MEASURED: u64 = 5;
/// Start of the first run: 2024-01-01.
const START: u64 = 1_704_067_200_000_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [runs, count] = words.as_slice() else {
        panic!("many_runs DIR COUNT");
    };
    let (runs, count) = (Path::new(runs), count.parse::<u64>().unwrap());
    for number in 0..2 * MEASURED {
        let (added_us, kernel) = match number < MEASURED {
            true => (150.0 + number as f64, "6.12.48"),
            false => (345.0 + number as f64, "6.18.0"),
        };
        let name = format!("measured-{number}");
        measure_whole(
            runs,
            &name,
            (START + number, added_us),
            &json!({ "kernel": kernel }),
        );
    }
    for day in 0..count {
        let after_step = if day * 3 >= count * 2 { MEASURED } else { 0 };
        let from = format!("measured-{}", after_step + day * 7 % MEASURED);
        copy(runs, &from, &format!("day-{day:06}"), START + day * DAY);
    }
    for number in 0..2 * MEASURED {
        std::fs::remove_dir_all(runs.join(format!("measured-{number}"))).unwrap();
    }
    println!("{count} runs in {}", runs.display());
}
