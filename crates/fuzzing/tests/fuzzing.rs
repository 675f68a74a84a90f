//! Every fuzz target against malformed input for some seconds: no panic, no hang. `fuzz/run` is guided by coverage.
//!
//! `TARE_FUZZ_SECONDS` sets the seconds, `TARE_FUZZ_INPUTS` a number of inputs instead, `TARE_FUZZ_TARGET` one target alone.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where by panicking"
)]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::abort;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tare_fuzzing::mutate::Mutator;
use tare_fuzzing::targets::{ALL, FuzzTarget, find};

/// An input that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(30);
/// Inputs that are run at least, even if the time is over.
const LEAST: u64 = 100;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The stored inputs of a target, in the order of their names.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = root().join("fuzz/seeds").join(name);
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// The input that a target runs, and since when.
type CurrentInput = Mutex<Option<(Instant, Vec<u8>)>>;

/// Stores an input that panics or hangs as a seed; a message with its path.
fn keep(name: &str, input: &[u8], what: &str) -> String {
    let folder = root().join("fuzz/seeds").join(name);
    let file = folder.join(format!("{what}-{}", input.len()));
    let kept = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, input));
    format!("{name}: {what}, input {} ({kept:?})", file.display())
}

/// When a target has had enough inputs.
#[derive(Clone, Copy)]
enum Until {
    Time(Instant),
    Inputs(u64),
}

impl Until {
    fn is_reached(self, inputs: u64) -> bool {
        match self {
            Until::Time(at) => inputs > LEAST && Instant::now() > at,
            Until::Inputs(wanted) => inputs >= wanted,
        }
    }
}

fn feed(
    FuzzTarget { name, run, .. }: &FuzzTarget,
    seed: u64,
    until: Until,
    fed: &CurrentInput,
) -> (u64, Option<String>) {
    let seeds = seeds(name);
    let mut mutator = Mutator::from_seed(seed);
    let mut input = Vec::new();
    let mut count: u64 = 0;
    let mut kept = seeds.iter();
    loop {
        match kept.next() {
            Some(seed) => input.clone_from(seed),
            None if until.is_reached(count) => return (count, None),
            None => mutator.input(&seeds, &mut input),
        }
        *fed.lock().unwrap() = Some((Instant::now(), input.clone()));
        if catch_unwind(AssertUnwindSafe(|| run(&input))).is_err() {
            return (count, Some(keep(name, &input, "panics")));
        }
        *fed.lock().unwrap() = None;
        count += 1;
    }
}

#[test]
fn malformed_input_makes_nothing_panic_or_hang() {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let seconds = number("TARE_FUZZ_SECONDS").unwrap_or(3);
    let inputs = number("TARE_FUZZ_INPUTS");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = now.as_nanos() as u64;
    let only = std::env::var("TARE_FUZZ_TARGET").ok();
    let is_wanted = |target: &&FuzzTarget| only.as_ref().is_none_or(|only| only == target.name);
    let all: Vec<&FuzzTarget> = ALL.iter().filter(is_wanted).collect();
    assert!(!all.is_empty(), "there is no fuzz target {only:?}");
    let fed: Vec<CurrentInput> = all.iter().map(|_| CurrentInput::default()).collect();
    let is_over = AtomicBool::new(false);
    let harm: Vec<String> = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(100));
                for (target, fed) in all.iter().zip(&fed) {
                    let held = fed.lock().unwrap();
                    if let Some((since, input)) =
                        held.as_ref().filter(|held| held.0.elapsed() > LIMIT)
                    {
                        let kept = keep(target.name, input, "hangs");
                        eprintln!("{kept} for {:?}", since.elapsed());
                        abort();
                    }
                }
            }
        });
        // Two at a time: more would share the cores.
        let mut harm = Vec::new();
        for (pair, fed) in all.chunks(2).zip(fed.chunks(2)) {
            let end = Instant::now() + Duration::from_secs(seconds);
            let until = inputs.map_or(Until::Time(end), Until::Inputs);
            let under_way: Vec<_> = pair
                .iter()
                .zip(fed)
                .map(|(target, fed)| {
                    let fed = scope.spawn(move || feed(target, seed, until, fed));
                    (target.name, fed)
                })
                .collect();
            for (name, one) in under_way {
                let (count, found) = one.join().unwrap();
                println!("{name}: {count} inputs");
                harm.extend(found);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        harm
    });
    assert!(harm.is_empty(), "seed {seed}: {}", harm.join("; "));
}

/// Inputs of each target in the committed table.
const INPUTS_MIN: u64 = 300_000;

#[test]
fn the_page_of_results_has_enough_inputs_of_each_target() {
    let page = fs::read_to_string(root().join("docs/FUZZING.md")).unwrap();
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    for (name, rest) in rows {
        let cells: Vec<&str> = rest.split(" | ").collect();
        let &[covers, inputs, _seconds, edges] = &cells[..] else {
            continue;
        };
        let target = find(name).map(|target| target.covers);
        assert_eq!(target, Some(covers), "docs/FUZZING.md: {name}");
        let inputs: u64 = inputs.parse().unwrap();
        assert!(
            inputs >= INPUTS_MIN,
            "{name}: {inputs}; run fuzz/run 300000 {name}"
        );
        let edges = edges.trim_end_matches(" |").parse::<u64>();
        assert!(edges.unwrap() > 0);
    }
}
