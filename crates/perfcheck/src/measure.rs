//! Measures benchmarks: rounds of one repeat of each, in random order; of two revisions, one directly after the other.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use regex::Regex;
use tare_record::view::Better;
use tare_report::quantity;
use tare_stats::random::Random;

use crate::error::CheckError;
use crate::process::Processes;
use crate::tools::{Prepared, better_of};

/// Time between two lines about progress.
const SAY_INTERVAL: Duration = Duration::from_secs(10);

/// The revisions of a project that are measured.
pub struct Sides {
    /// Name of the tool.
    pub tool: &'static str,
    pub now: Prepared,
    pub old: Option<Prepared>,
}

/// Values of a benchmark, by round.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchmarkSeries {
    pub better: Better,
    pub now: Vec<Option<f64>>,
    pub old: Vec<Option<f64>>,
}

/// The name of a benchmark, with its tool, and a unit.
pub type BenchmarkUnit = (String, String);

/// What was measured of one project.
#[derive(Debug, Default)]
pub struct ProjectValues {
    pub series: BTreeMap<BenchmarkUnit, BenchmarkSeries>,
    /// Benchmarks that failed, with the reason.
    pub failed: Vec<(String, String)>,
    /// Names that the old revision does not have, and those that it alone has.
    pub added: Vec<String>,
    pub removed: Vec<String>,
}

/// What is run at once.
struct Unit {
    project: usize,
    name: String,
    now: usize,
    old: Option<usize>,
    has_failed: bool,
}

/// How often and in which order benchmarks are run.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    pub repeats: u32,
    pub seed: u64,
}

/// Names that a pattern takes.
pub fn is_chosen(pattern: Option<&Regex>, tool: &str, name: &str) -> bool {
    pattern.is_none_or(|pattern| pattern.is_match(&labelled(tool, name)))
}

/// A name as results and golden files have it.
fn labelled(tool: &str, name: &str) -> String {
    format!("{tool}: {name}")
}

/// Measures all projects; one result for each.
pub fn measure(
    projects: &[Sides],
    pattern: Option<&Regex>,
    rounds: Rounds,
    processes: &Processes<'_>,
    say: &dyn Fn(&str),
) -> Result<Vec<ProjectValues>, CheckError> {
    let mut measured: Vec<ProjectValues> =
        projects.iter().map(|_| ProjectValues::default()).collect();
    let mut units = Vec::new();
    for (project, sides) in projects.iter().enumerate() {
        units.extend(units_of(project, sides, pattern, &mut measured[project]));
    }
    let mut random = Random::for_purpose(rounds.seed, "perfcheck");
    let (began, mut said) = (Instant::now(), Instant::now());
    let runs_of = |unit: &Unit| projects[unit.project].now.runner.runs_per_repeat();
    let runs = units.iter().map(runs_of).max().unwrap_or(1);
    let total = units.len() * runs * rounds.repeats as usize;
    let mut done = 0;
    for (round, run_number) in rounds_and_runs(rounds.repeats as usize, runs) {
        random.shuffle(&mut units);
        for unit in &mut units {
            if !unit.has_failed && run_number < runs_of(unit) {
                let sides = &projects[unit.project];
                let mut order = [Revision::Now, Revision::Old];
                random.shuffle(&mut order);
                for side in order {
                    run(
                        unit,
                        side,
                        sides,
                        round,
                        &mut measured[unit.project],
                        processes,
                    )?;
                }
            }
            done += 1;
            if said.elapsed() > SAY_INTERVAL {
                said = Instant::now();
                let rest = began.elapsed().as_nanos() as f64 / done as f64 * (total - done) as f64;
                say(&format!(
                    "round {} of {}, {}; about {} left",
                    round + 1,
                    rounds.repeats,
                    unit.name,
                    quantity::span(rest as u64)
                ));
            }
        }
    }
    Ok(measured)
}

/// Each round with the numbers of its runs, in the order of time.
fn rounds_and_runs(rounds: usize, runs: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rounds).flat_map(move |round| (0..runs).map(move |run| (round, run)))
}

fn units_of(
    project: usize,
    sides: &Sides,
    pattern: Option<&Regex>,
    measured: &mut ProjectValues,
) -> Vec<Unit> {
    let label = |name: &str| labelled(sides.tool, name);
    let chosen = |name: &&String| is_chosen(pattern, sides.tool, name);
    let mut units = Vec::new();
    for (place, name) in sides
        .now
        .names
        .iter()
        .enumerate()
        .filter(|(_, name)| chosen(name))
    {
        let old = match &sides.old {
            None => None,
            Some(old) => {
                let found = old.names.iter().position(|known| known == name);
                if found.is_none() {
                    measured.added.push(label(name));
                    continue;
                }
                found
            }
        };
        units.push(Unit {
            project,
            name: label(name),
            now: place,
            old,
            has_failed: false,
        });
    }
    if let Some(old) = &sides.old {
        let gone = old.names.iter().filter(chosen);
        let gone = gone.filter(|name| !sides.now.names.contains(name));
        measured.removed.extend(gone.map(|name| label(name)));
    }
    units
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Revision {
    Now,
    Old,
}

fn run(
    unit: &mut Unit,
    side: Revision,
    sides: &Sides,
    round: usize,
    measured: &mut ProjectValues,
    processes: &Processes<'_>,
) -> Result<(), CheckError> {
    let (prepared, place) = match (side, &sides.old, unit.old) {
        (Revision::Now, ..) => (&sides.now, unit.now),
        (Revision::Old, Some(old), Some(place)) => (old, place),
        (Revision::Old, ..) => return Ok(()),
    };
    if unit.has_failed {
        return Ok(());
    }
    match prepared.repeat(place, processes) {
        Ok(readings) => {
            for reading in readings {
                let key = (labelled(sides.tool, &reading.benchmark), reading.unit);
                let series = measured
                    .series
                    .entry(key)
                    .or_insert_with(|| BenchmarkSeries {
                        better: reading.better,
                        now: Vec::new(),
                        old: Vec::new(),
                    });
                let values = match side {
                    Revision::Now => &mut series.now,
                    Revision::Old => &mut series.old,
                };
                values.resize(round + 1, None);
                let known = values[round].unwrap_or(reading.value);
                values[round] = Some(better_of(reading.better, known, reading.value));
            }
        }
        Err(CheckError::Environment(reason)) => {
            unit.has_failed = true;
            let of = match side {
                Revision::Now => "",
                Revision::Old => " of the old revision",
            };
            measured.failed.push((format!("{}{of}", unit.name), reason));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}
