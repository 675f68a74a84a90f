//! Comparison of one new session with earlier ones, for `tare perfcheck` against a golden file.
//!
//! **Model.** ln(value) of a session and a benchmark = mean of the benchmark + deviation of the session. Repeats within a session do
//! not hold what changes between sessions (clock, neighbours, layout of memory), so the session is the unit: the new one is judged by a
//! prediction interval, whose variance is that of one session and of the mean of the earlier ones, s² (1 + 1/n).
//!
//! **Variance.** Three sessions say little about the deviation of one benchmark, so it is taken from all benchmarks with the same unit:
//! the mean of their variances. Benchmarks of one session deviate together, so its degrees of freedom are not the sum of theirs: they
//! are Satterthwaite's (Biometrics Bulletin 2 (1946) 110–114) for the two mean squares, of sessions and of the rest. A benchmark that
//! deviates significantly more than the others (F test, as for arms in [`crate::paired`]) has its own variance; one that deviates far
//! more has no part in theirs.

use crate::distribution::{f_cdf, student_quantile};
use crate::interval::RatioInterval;
use crate::outcome::{BLOCKS_MIN, Margin, Outcome, TestStatistic};
use crate::paired::{NOISIER_TAIL, mean, variance};

/// Upper tail of the F test that takes a benchmark out of the pool: so small that the pool of equal ones hardly loses its largest.
const APART_TAIL: f64 = 0.001;
/// Smallest standard error of a log-ratio: it covers rounding of values to four digits.
const ERROR_MIN: f64 = 1e-4;

/// Values of one benchmark, all of them positive.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchmarkSessions {
    /// A value per earlier session, in order; `None`: not measured there.
    pub earlier: Vec<Option<f64>>,
    /// The value of the new session.
    pub now: f64,
}

/// A new session of one benchmark compared with the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionComparison {
    /// Earlier sessions with a value.
    pub sessions: usize,
    /// Geometric mean of the earlier sessions.
    pub before: Option<f64>,
    /// Ratio of the new session to it.
    pub ratio: Option<f64>,
    /// The interval for the decision "differs": simultaneous 95 % over the family.
    pub decision: Option<RatioInterval>,
    /// The decision. More sessions narrow the interval only down to the deviation of one, so their number is not given.
    pub outcome: Outcome,
}

/// Compares a new session with the earlier ones, for benchmarks of one unit. `family` is the number of all comparisons.
#[must_use]
pub fn compare(
    benchmarks: &[BenchmarkSessions],
    family: usize,
    margin: Margin,
) -> Vec<SessionComparison> {
    let logs: Vec<Vec<Option<f64>>> = benchmarks
        .iter()
        .map(|one| one.earlier.iter().map(|value| value.map(f64::ln)).collect())
        .collect();
    let all = (0..benchmarks.len()).map(|place| {
        let now = benchmarks[place].now.ln();
        one(&logs, place, now, family, margin)
    });
    all.collect()
}

fn one(
    logs: &[Vec<Option<f64>>],
    place: usize,
    now: f64,
    family: usize,
    margin: Margin,
) -> SessionComparison {
    let own: Vec<f64> = logs[place].iter().copied().flatten().collect();
    let (sessions, before) = (own.len(), mean(&own));
    let estimate = before.map(|before| now - before);
    let without = SessionComparison {
        sessions,
        before: before.map(f64::exp),
        ratio: estimate.map(f64::exp),
        decision: None,
        outcome: Outcome::TooFewBlocks { complete: sessions },
    };
    let (Some(estimate), Some(spread)) = (estimate, spread(logs, place, &own)) else {
        return without;
    };
    let tail = 0.025 / family.max(1) as f64;
    let statistic = TestStatistic {
        estimate,
        error: (spread.variance * (1.0 + 1.0 / sessions as f64))
            .sqrt()
            .max(ERROR_MIN),
        degrees: spread.degrees,
        critical: student_quantile(1.0 - tail, spread.degrees),
        tail,
        blocks: sessions,
        margin: before.map_or(0.0, |before| margin.relative_to(before.exp())),
    };
    SessionComparison {
        decision: Some(statistic.decision()),
        outcome: statistic.judge(),
        ..without
    }
}

/// A variance between sessions, and its degrees of freedom.
#[derive(Debug, Clone, Copy)]
struct Spread {
    variance: f64,
    degrees: f64,
}

/// The variance that holds for a benchmark: pooled, or its own; `None` with too few sessions.
fn spread(logs: &[Vec<Option<f64>>], place: usize, own: &[f64]) -> Option<Spread> {
    if own.len() < BLOCKS_MIN {
        return None;
    }
    let alone = Spread {
        variance: variance(own)?,
        degrees: own.len() as f64 - 1.0,
    };
    let whole = complete(logs);
    let apart = set_apart(&whole);
    let is_apart = apart.contains(&place);
    let of = |is_taken: &dyn Fn(usize) -> bool| {
        let taken = whole
            .iter()
            .filter(|(at, _)| is_taken(*at) && !apart.contains(at));
        pooled(
            &taken
                .map(|(_, values)| values.as_slice())
                .collect::<Vec<_>>(),
        )
    };
    let (Some(rest), Some(pooled)) = (of(&|other| other != place), of(&|_| true)) else {
        return Some(alone);
    };
    let is_noisier = is_apart || exceeds(alone, rest, NOISIER_TAIL);
    Some(match is_noisier {
        true => Spread {
            variance: alone.variance.max(pooled.variance),
            degrees: alone.degrees,
        },
        false => pooled,
    })
}

/// Whether a variance is larger than another one (F test).
fn exceeds(one: Spread, other: Spread, tail: f64) -> bool {
    let ratio = one.variance / other.variance.max(ERROR_MIN * ERROR_MIN);
    f_cdf(ratio, one.degrees, other.degrees) > 1.0 - tail
}

/// Benchmarks that deviate far more than the others: the deviation of one that allocates, say, says nothing about the others.
fn set_apart(whole: &[(usize, Vec<f64>)]) -> Vec<usize> {
    let mut kept: Vec<&(usize, Vec<f64>)> = whole.iter().collect();
    let spread_of = |values: &Vec<f64>| variance(values).unwrap_or_default();
    kept.sort_by(|a, b| spread_of(&a.1).total_cmp(&spread_of(&b.1)));
    let mut apart = Vec::new();
    while let Some((last, others)) = kept.split_last() {
        let others: Vec<&[f64]> = others.iter().map(|(_, values)| values.as_slice()).collect();
        let alone = Spread {
            variance: spread_of(&last.1),
            degrees: last.1.len() as f64 - 1.0,
        };
        if !pooled(&others).is_some_and(|rest| exceeds(alone, rest, APART_TAIL)) {
            break;
        }
        apart.push(last.0);
        kept.pop();
    }
    apart
}

/// The benchmarks that have a value in every session, by place.
fn complete(logs: &[Vec<Option<f64>>]) -> Vec<(usize, Vec<f64>)> {
    let whole = logs
        .iter()
        .enumerate()
        .filter_map(|(at, values)| Some((at, values.iter().copied().collect::<Option<_>>()?)));
    whole.collect()
}

/// The mean of the benchmarks' variances, with Satterthwaite's degrees of freedom; `None` without a benchmark of enough sessions.
fn pooled(benchmarks: &[&[f64]]) -> Option<Spread> {
    let count = benchmarks.len() as f64;
    let sessions = benchmarks.first()?.len();
    if sessions < BLOCKS_MIN {
        return None;
    }
    let means: Vec<f64> = benchmarks.iter().filter_map(|one| mean(one)).collect();
    let deviation =
        |benchmark: usize, session: usize| benchmarks[benchmark][session] - means[benchmark];
    // Deviation of each session, common to all benchmarks.
    let common: Vec<f64> = (0..sessions)
        .map(|session| {
            let all = (0..benchmarks.len()).map(|benchmark| deviation(benchmark, session));
            all.sum::<f64>() / count
        })
        .collect();
    let degrees = sessions as f64 - 1.0;
    // Each benchmark's variance is that of the common deviation and that of the rest.
    let of_common = common.iter().map(|one| one * one).sum::<f64>() / degrees;
    let of_rest: f64 = (0..benchmarks.len())
        .flat_map(|benchmark| (0..sessions).map(move |session| (benchmark, session)))
        .map(|(benchmark, session)| (deviation(benchmark, session) - common[session]).powi(2))
        .sum::<f64>()
        / (degrees * count);
    let variance = of_common + of_rest;
    let squares = of_common.powi(2) / degrees
        + match count > 1.0 {
            true => of_rest.powi(2) / (degrees * (count - 1.0)),
            false => 0.0,
        };
    let degrees = match squares > 0.0 {
        true => variance * variance / squares,
        false => degrees * count,
    };
    Some(Spread { variance, degrees })
}

#[cfg(test)]
mod tests;
