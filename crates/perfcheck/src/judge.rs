//! The decisions: benchmarks against earlier sessions, or against an old revision round by round.
//!
//! The value of a session is the best of its repeats: what disturbs a benchmark makes it slower, and on a machine with neighbours the
//! median of five repeats is hit as a whole once in a hundred sessions (simulated in the tests).
//!
//! Worse or better means that the simultaneous 95 % interval excludes "no difference" and that the estimate exceeds the margin. The
//! second condition is stricter than for experiments: a golden file is asked again and again, and each time one session in twenty may
//! show a difference that is none.

use std::collections::BTreeMap;

use tare_record::api::{BenchmarkOutcome, BenchmarkResult, GoldenSession};
use tare_record::view::{Better, Interval};
use tare_report::quantity;
use tare_stats::outcome::{BLOCKS_MIN, Direction, Extent, Margin, Outcome};
use tare_stats::paired::{
    BaselineCopies, ComparisonFamily, ComparisonInput, MetricRole, PairedTable,
};
use tare_stats::sessions::{self, BenchmarkSessions};
use tare_stats::unpaired::{self, UnpairedInput};
use tare_stats::{RatioInterval, median};

use crate::measure::{BenchmarkSeries, BenchmarkUnit};
use crate::tools::better_of;

/// The relative step of values: tools print four digits or a few more.
const RESOLUTION: f64 = 1e-4;

/// Groups of rounds with both revisions.
const GROUPS: usize = 5;

/// One comparison.
pub struct Case {
    /// Folder of the project.
    pub project: String,
    pub name: BenchmarkUnit,
    pub better: Better,
    /// Values of the repeats.
    pub now: Vec<f64>,
    pub before: Before,
}

/// What a benchmark is compared with.
pub enum Before {
    /// Repeats of each earlier session; `None`: not measured there.
    Sessions(Vec<Option<Vec<f64>>>),
    /// Rounds with both revisions: old, new.
    Rounds(Vec<(f64, f64)>),
}

/// The cases of a project against its earlier sessions.
pub fn with_sessions(
    project: &str,
    measured: &BTreeMap<BenchmarkUnit, BenchmarkSeries>,
    sessions: &[GoldenSession],
) -> Vec<Case> {
    cases(project, measured, |(name, unit), _| {
        let values = |session: &GoldenSession| {
            let values = session.values.get(name)?.get(unit)?;
            Some(values.clone()).filter(|some| !some.is_empty())
        };
        Before::Sessions(sessions.iter().map(values).collect())
    })
}

/// The cases of a project against its old revision.
pub fn with_old(project: &str, measured: &BTreeMap<BenchmarkUnit, BenchmarkSeries>) -> Vec<Case> {
    cases(project, measured, |_, series| {
        let rounds = series.old.iter().zip(&series.now);
        let pairs: Vec<(f64, f64)> = rounds.filter_map(|(old, now)| old.zip(*now)).collect();
        Before::Rounds(grouped(series.better, &pairs))
    })
}

/// The best of both revisions in each of five groups of rounds, which are spread over the session alike.
fn grouped(better: Better, pairs: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if pairs.len() < 2 * GROUPS {
        return pairs.to_vec();
    }
    let group = |first: usize| {
        let own = pairs.iter().skip(first).step_by(GROUPS).copied();
        own.reduce(|a, b| (better_of(better, a.0, b.0), better_of(better, a.1, b.1)))
    };
    (0..GROUPS).filter_map(group).collect()
}

fn cases(
    project: &str,
    measured: &BTreeMap<BenchmarkUnit, BenchmarkSeries>,
    before: impl Fn(&BenchmarkUnit, &BenchmarkSeries) -> Before,
) -> Vec<Case> {
    let cases = measured.iter().map(|(name, series)| Case {
        project: project.to_owned(),
        name: name.clone(),
        better: series.better,
        now: series.now.iter().copied().flatten().collect(),
        before: before(name, series),
    });
    cases.collect()
}

impl Case {
    /// Values of the reference: the best of each session, or those of the rounds.
    fn reference(&self) -> Vec<f64> {
        match &self.before {
            Before::Sessions(all) => all
                .iter()
                .flatten()
                .filter_map(|some| best(self.better, some))
                .collect(),
            Before::Rounds(rounds) => rounds.iter().map(|(old, _)| *old).collect(),
        }
    }

    /// Whether chance has a part in it: a count that is always the same cannot be wrong.
    fn varies(&self) -> bool {
        let varies = |values: &[f64]| {
            let first = values.first().copied().unwrap_or_default();
            let mut values = values.iter();
            values.any(|value| (value - first).abs() > f64::EPSILON * first.abs())
        };
        let reference = self.reference();
        match &self.before {
            _ if reference.is_empty() => false,
            Before::Sessions(_) => varies(&[&reference[..], &self.now].concat()),
            Before::Rounds(rounds) => {
                let now: Vec<f64> = rounds.iter().map(|(_, now)| *now).collect();
                varies(&reference) || varies(&now)
            }
        }
    }

    fn has_zeros(&self) -> bool {
        let is_zero = |value: &f64| *value <= 0.0;
        self.now.iter().any(is_zero) || self.reference().iter().any(is_zero)
    }

    fn result(&self, found: Found) -> BenchmarkResult {
        let reference = self.reference();
        let now = match &self.before {
            Before::Rounds(rounds) if !rounds.is_empty() => {
                median(&rounds.iter().map(|(_, now)| *now).collect::<Vec<f64>>())
            }
            _ => best(self.better, &self.now),
        };
        BenchmarkResult {
            project: self.project.clone(),
            benchmark: self.name.0.clone(),
            unit: self.name.1.clone(),
            better: self.better,
            now: now.unwrap_or_default(),
            reference: median(&reference),
            ratio: found.ratio,
            sessions: u32::try_from(reference.len()).unwrap_or(u32::MAX),
            outcome: found.outcome,
        }
    }
}

/// Ratio and outcome of a case.
#[derive(Debug, Clone, Copy)]
struct Found {
    ratio: Option<Interval>,
    outcome: BenchmarkOutcome,
}

impl Found {
    fn of(
        better: Better,
        margin: f64,
        ratio: Option<f64>,
        interval: Option<RatioInterval>,
        outcome: Outcome,
    ) -> Found {
        let is_large = ratio.is_some_and(|ratio| ratio.ln().abs() > margin.ln_1p());
        let outcome = match outcome {
            Outcome::Differs {
                extent: Extent::WithinMargin,
                ..
            }
            | Outcome::Same => BenchmarkOutcome::Same,
            Outcome::Differs { direction, .. } if is_large => {
                grown(better, direction == Direction::Higher)
            }
            Outcome::Differs { .. } | Outcome::Undecided { .. } | Outcome::TooFewBlocks { .. } => {
                BenchmarkOutcome::Undecided
            }
        };
        Found {
            ratio: ratio
                .map(|ratio| quantity::interval(ratio, interval.map(|one| (one.low, one.high)))),
            outcome,
        }
    }

    fn without_ratio(outcome: BenchmarkOutcome) -> Found {
        Found {
            ratio: None,
            outcome,
        }
    }
}

/// The best value; `None` without one.
fn best(better: Better, values: &[f64]) -> Option<f64> {
    let values = values.iter().copied();
    values.reduce(|one, other| better_of(better, one, other))
}

fn grown(better: Better, is_more: bool) -> BenchmarkOutcome {
    match (better, is_more) {
        (Better::Lower, true) | (Better::Higher, false) => BenchmarkOutcome::Worse,
        (Better::Lower, false) | (Better::Higher, true) => BenchmarkOutcome::Better,
    }
}

/// Judges all cases of a check as one family; the worst first.
pub fn judge(cases: &[Case], margin: f64) -> Vec<BenchmarkResult> {
    let family = cases.iter().filter(|case| case.varies()).count().max(1);
    let judge = Judge { family, margin };
    let mut results: Vec<BenchmarkResult> = Vec::new();
    let mut several: BTreeMap<(&str, &str), Vec<&Case>> = BTreeMap::new();
    for case in cases {
        let found = match &case.before {
            _ if case.reference().is_empty() => Found::without_ratio(BenchmarkOutcome::New),
            _ if case.has_zeros() => zeros(case),
            Before::Rounds(rounds) => judge.rounds(case.better, rounds),
            Before::Sessions(_) if case.reference().len() < BLOCKS_MIN => judge.repeats(case),
            Before::Sessions(_) => {
                let group = several.entry((&case.project, &case.name.1)).or_default();
                group.push(case);
                continue;
            }
        };
        results.push(case.result(found));
    }
    for group in several.values() {
        results.extend(judge.sessions(group));
    }
    // Of equal outcomes those that are farthest from their reference.
    let size = |one: &BenchmarkResult| one.ratio.map_or(0.0, |ratio| ratio.estimate.ln().abs());
    results.sort_by(|a, b| {
        a.outcome
            .cmp(&b.outcome)
            .then(size(b).total_cmp(&size(a)))
            .then_with(|| {
                (&a.project, &a.benchmark, &a.unit).cmp(&(&b.project, &b.benchmark, &b.unit))
            })
    });
    results
}

/// Values of 0, which have no ratio: decided where all values of each side are, or none.
fn zeros(case: &Case) -> Found {
    let is_zero = |values: &[f64]| {
        let zeros = values.iter().filter(|value| **value == 0.0).count();
        match zeros {
            0 => values.iter().all(|value| *value > 0.0).then_some(false),
            _ => (zeros == values.len()).then_some(true),
        }
    };
    Found::without_ratio(match (is_zero(&case.reference()), is_zero(&case.now)) {
        (Some(true), Some(true)) => BenchmarkOutcome::Same,
        (Some(true), Some(false)) => grown(case.better, true),
        (Some(false), Some(true)) => grown(case.better, false),
        _ => BenchmarkOutcome::Undecided,
    })
}

struct Judge {
    /// Number of comparisons over which the intervals are simultaneous.
    family: usize,
    margin: f64,
}

impl Judge {
    /// Benchmarks of one unit against three sessions or more.
    fn sessions(&self, group: &[&Case]) -> Vec<BenchmarkResult> {
        let columns: Vec<BenchmarkSessions> = group
            .iter()
            .map(|case| BenchmarkSessions {
                earlier: match &case.before {
                    Before::Sessions(all) => {
                        let best = all.iter().map(|some| best(case.better, some.as_deref()?));
                        best.collect()
                    }
                    Before::Rounds(_) => Vec::new(),
                },
                now: best(case.better, &case.now).unwrap_or(f64::NAN),
            })
            .collect();
        let compared = sessions::compare(&columns, self.family, Margin::relative(self.margin));
        let results = group.iter().zip(compared).map(|(case, one)| {
            case.result(Found::of(
                case.better,
                self.margin,
                one.ratio,
                one.decision,
                one.outcome,
            ))
        });
        results.collect()
    }

    /// Against one or two sessions: their repeats, which do not hold what changes between sessions.
    fn repeats(&self, case: &Case) -> Found {
        let before: Vec<f64> = match &case.before {
            Before::Sessions(all) => all.iter().flatten().flatten().copied().collect(),
            Before::Rounds(_) => Vec::new(),
        };
        let compared = unpaired::compare(&UnpairedInput {
            before: &before,
            after: &case.now,
            family: self.family,
            margin: Margin::relative(self.margin),
            resolution: RESOLUTION,
        });
        match compared {
            Ok(one) => Found::of(
                case.better,
                self.margin,
                one.ratio,
                one.decision,
                one.outcome,
            ),
            Err(_) => Found::without_ratio(BenchmarkOutcome::Undecided),
        }
    }

    /// Round by round.
    fn rounds(&self, better: Better, rounds: &[(f64, f64)]) -> Found {
        let rows: Vec<Vec<Option<f64>>> = rounds
            .iter()
            .map(|(old, now)| vec![Some(*old), Some(*now)])
            .collect();
        let Ok(table) = PairedTable::new(BaselineCopies::One, 1, &rows) else {
            return Found::without_ratio(BenchmarkOutcome::Undecided);
        };
        let compared = ComparisonFamily::new(1, self.family, 1).compare(&ComparisonInput {
            table: &table,
            role: MetricRole::Primary,
            margin: Margin::relative(self.margin),
            resolution: RESOLUTION,
        });
        let Some(arm) = compared.arms.first() else {
            return Found::without_ratio(BenchmarkOutcome::Undecided);
        };
        let decision = arm.intervals.map(|intervals| intervals.decision);
        Found::of(better, self.margin, arm.ratio, decision, arm.outcome)
    }
}

#[cfg(test)]
mod tests;
