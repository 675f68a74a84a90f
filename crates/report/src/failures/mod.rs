//! Failed exchanges: their share of a cell, their causes, the metrics they leave without a verdict, and how two cells differ.

mod rule;

use tare_record::agent::{ErrorSource, LoadResult, RecordDirection};
use tare_record::load::Pacing;
use tare_record::metric::Metric;
use tare_record::plan::Plan;
use tare_record::record::TrialRecord;
use tare_record::view::{FailedShare, FailureView, Interval, Overhead, Table, TableCell, View};
use tare_stats::distribution::{f_quantile, student_quantile};
use tare_stats::outcome::BLOCKS_MIN;
use tare_stats::outliers::mean_and_deviation;
use tare_stats::waterfall::decompose;

use crate::quantity::{self, MISSING};
use crate::tables::{TableInputs, cell_at, figure, name, text, words};
use crate::trials::{CellName, Trials};
use crate::waterfall;
use rule::{FailureCounts, LoopKind};

/// Number of classes that are named; the others are summed.
const CLASSES_NAMED: usize = 3;

/// Classes of outcomes that a result counts beside them.
const COUNTED_APART: [&str; 3] = ["ok", "unfinished", "never-sent"];

/// A share above this could be rounded to 100 %.
const NEARLY_ALL: f64 = 0.99;

/// The failures of a cell, over the trials that count.
pub fn cell_failures(plan: &Plan, cell: &CellName, records: &[&TrialRecord]) -> FailedShare {
    let counts = counts(records);
    let loop_kind = loop_kind(plan, cell);
    let share = share(counts);
    let mut no_verdict = Metric::ALL.to_vec();
    no_verdict.retain(|metric| !rule::allows_verdict(*metric, loop_kind, counts));
    FailedShare {
        share,
        text: share.map_or_else(|| MISSING.into(), percent),
        classes: classes(records, counts),
        what: what(records).into(),
        no_verdict,
    }
}

fn roles<'a>(records: &[&'a TrialRecord]) -> impl Iterator<Item = &'a LoadResult> + use<'a> {
    let roles: Vec<&LoadResult> = records.iter().flat_map(|record| &record.load).collect();
    roles.into_iter()
}

fn counts(records: &[&TrialRecord]) -> FailureCounts {
    let mut counts = FailureCounts::default();
    for role in roles(records) {
        // What was never sent is a failure: the target let the queue grow.
        counts.failed += role.failed();
        counts.exchanges += role.exchanges();
    }
    counts
}

fn share(counts: FailureCounts) -> Option<f64> {
    (counts.exchanges > 0).then(|| counts.failed as f64 / counts.exchanges as f64)
}

fn loop_kind(plan: &Plan, (arm, level): &CellName) -> LoopKind {
    let cells = plan.cells.iter();
    let mut roles = cells
        .filter(|cell| (&cell.arm, &cell.level) == (arm, level))
        .flat_map(|cell| &cell.load);
    match roles.any(|role| matches!(role.load.pacing, Pacing::Closed { .. } | Pacing::Max)) {
        true => LoopKind::Closed,
        false => LoopKind::Open,
    }
}

/// The noun for exchanges: records for producers, else requests.
fn what(records: &[&TrialRecord]) -> &'static str {
    let written = |role: &LoadResult| {
        let flow = role.flow.as_ref();
        flow.is_some_and(|flow| flow.direction == RecordDirection::Produced)
    };
    let mut roles = roles(records).peekable();
    match roles.peek().is_some() && roles.all(written) {
        true => "records",
        false => "requests",
    }
}

/// A share as a percentage; 100 % only if it is exactly that.
fn percent(share: f64) -> String {
    match share {
        nearly if nearly > NEARLY_ALL && nearly < 1.0 => {
            format!("over {}", quantity::percent(NEARLY_ALL))
        }
        share => quantity::percent(share),
    }
}

/// "2.9 % status 503 by the target, 0.3 % reset by the peer", the largest first.
fn classes(records: &[&TrialRecord], counts: FailureCounts) -> String {
    let mut classes: Vec<(String, u64)> = Vec::new();
    let mut add = |name: String, count: u64| match classes.iter_mut().find(|one| one.0 == name) {
        _ if count == 0 => {}
        Some((_, sum)) => *sum += count,
        None => classes.push((name, count)),
    };
    for role in roles(records) {
        let wrong = role.outcomes.iter();
        for outcome in wrong.filter(|one| !COUNTED_APART.contains(&one.class.as_str())) {
            let source = by_source(outcome.error_source);
            let class = outcome.class.replace('-', " ");
            add(format!("{class}{source}"), outcome.count);
        }
        add("unfinished".into(), role.unfinished);
        add("never sent".into(), role.never_sent());
    }
    // A stable sort: of equals the first one.
    classes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let of_all = |count: u64| percent(count as f64 / counts.exchanges.max(1) as f64);
    let named = classes.iter().take(CLASSES_NAMED);
    let mut shares: Vec<String> = named
        .map(|(name, count)| format!("{} {name}", of_all(*count)))
        .collect();
    let others = classes.iter().skip(CLASSES_NAMED);
    let others: u64 = others.map(|(_, count)| count).sum();
    if others > 0 {
        shares.push(format!("{} others", of_all(others)));
    }
    shares.join(", ")
}

fn by_source(error_source: ErrorSource) -> String {
    let whose = error_source.whose();
    whose.map_or_else(String::new, |whose| format!(" by {whose}"))
}

/// Why failures leave a metric of two cells without a verdict; each cell with a text for its place. `None` if they do not.
pub fn reason(metric: Metric, cells: [(Option<&FailedShare>, &str); 2]) -> Option<String> {
    cells.into_iter().find_map(|(failed, place)| {
        let failed = failed.filter(|failed| failed.no_verdict.contains(&metric))?;
        Some(format!(
            "{} of the {} failed{place}",
            failed.text, failed.what
        ))
    })
}

/// Whether failures leave a comparison of a view without a verdict.
pub fn is_unjudged(view: &View, overhead: &Overhead) -> bool {
    cell_is_unjudged(view, &overhead.arm, &overhead.level, overhead.metric)
        || cell_is_unjudged(
            view,
            &overhead.against,
            &overhead.against_level,
            overhead.metric,
        )
}

/// Whether the failures of one cell do.
pub fn cell_is_unjudged(view: &View, arm: &str, level: &str, metric: Metric) -> bool {
    cell_at(view, level, arm).is_some_and(|cell| cell.failed.no_verdict.contains(&metric))
}

/// The failures of a cell and of the cell it is compared with; `None` if they do not affect a verdict.
pub fn compared(
    plan: &Plan,
    trials: &Trials<'_>,
    base: &CellName,
    cell: &CellName,
) -> Option<FailureView> {
    let failed = trials.failed.get(cell)?;
    let against_failed = trials.failed.get(base)?;
    let difference = difference(trials, base, cell);
    let difference_text = difference.and_then(|difference| signed_difference(&difference));
    let no_verdict = no_verdict(judged_metrics(plan, &cell.0), [failed, against_failed]);
    if no_verdict.is_empty() && difference_text.is_none() {
        return None;
    }
    Some(FailureView {
        level: cell.1.clone(),
        arm: cell.0.clone(),
        against: base.0.clone(),
        against_level: base.1.clone(),
        failed: failed.clone(),
        against_failed: against_failed.clone(),
        difference,
        difference_text: difference_text.unwrap_or_else(|| MISSING.into()),
        no_verdict,
    })
}

/// The metrics of an arm that have a verdict or are in a waterfall.
fn judged_metrics(plan: &Plan, arm: &str) -> Vec<Metric> {
    let mut metrics = plan.primary.clone();
    let mut orders = plan.waterfall.iter().flat_map(|order| &order.arms);
    if orders.any(|name| name == arm) {
        metrics.extend(waterfall::metrics(plan).filter(|metric| !plan.primary.contains(metric)));
    }
    metrics
}

/// Those of these metrics that the failures of either cell leave without a verdict.
pub fn no_verdict(mut metrics: Vec<Metric>, failed: [&FailedShare; 2]) -> Vec<Metric> {
    metrics.retain(|metric| failed.iter().any(|one| one.no_verdict.contains(metric)));
    metrics
}

/// The difference of the shares within blocks, with an interval (Student's t) that is not adjusted for multiplicity.
///
/// A few failures that are spread evenly by chance underestimate the variance: the interval is never narrower than that of
/// independent failures (binomial variance).
fn difference(trials: &Trials<'_>, base: &CellName, cell: &CellName) -> Option<Interval> {
    let in_block = |name, block: &u32| in_block(trials, name, *block);
    let blocks = trials.blocks.iter();
    let pairs: Vec<[FailureCounts; 2]> = blocks
        .filter_map(|block| Some([in_block(base, block)?, in_block(cell, block)?]))
        .collect();
    let rows: Vec<Vec<Option<f64>>> = pairs
        .iter()
        .map(|pair| pair.iter().map(|counts| share(*counts)).collect())
        .collect();
    let total = decompose(&rows)?.total;
    let all = pairs.as_flattened().iter();
    let binomial: f64 = all
        .filter_map(|counts| {
            let share = share(*counts)?;
            Some(share * (1.0 - share) / counts.exchanges as f64)
        })
        .sum();
    let ends = total.interval.map(|(_, high)| {
        let blocks = pairs.len() as f64;
        let least = student_quantile(0.975, blocks - 1.0) * binomial.sqrt() / blocks;
        let half = (high - total.estimate).max(least);
        // A difference of shares lies between −1 and 1.
        let end = |end: f64| end.clamp(-1.0, 1.0);
        (end(total.estimate - half), end(total.estimate + half))
    });
    Some(quantity::interval(total.estimate, ends))
}

/// The counts of a cell in a block, both copies of the baseline together.
fn in_block(trials: &Trials<'_>, cell: &CellName, block: u32) -> Option<FailureCounts> {
    let of_block = trials.cells.get(cell)?;
    let of_block = of_block.range((block, 0)..=(block, u32::MAX));
    let records: Vec<&TrialRecord> = of_block.map(|(_, one)| one.record).collect();
    Some(counts(&records)).filter(|counts| counts.exchanges > 0)
}

/// The share of failures of a cell, with its 95 % interval: that of independent failures (C. J. Clopper and E. S. Pearson,
/// Biometrika 26 (1934) 404–413), but never narrower than that of the blocks (Student's t). No interval before three blocks.
pub fn errors(trials: &Trials<'_>, cell: &CellName) -> Option<Interval> {
    let blocks = trials.blocks.iter();
    let each: Vec<FailureCounts> = blocks
        .filter_map(|block| in_block(trials, cell, *block))
        .collect();
    let sum = |of: fn(&FailureCounts) -> u64| each.iter().map(of).sum::<u64>();
    let all = FailureCounts {
        exchanges: sum(|one| one.exchanges),
        failed: sum(|one| one.failed),
    };
    let estimate = share(all)?;
    let shares: Option<Vec<f64>> = each.iter().map(|one| share(*one)).collect();
    let ends = mean_and_deviation(&shares?).filter(|_| each.len() >= BLOCKS_MIN);
    let ends = ends.map(|(mean, deviation)| {
        let count = each.len() as f64;
        let half = student_quantile(0.975, count - 1.0) * deviation / count.sqrt();
        let [low, high] = clopper_pearson(all);
        (
            low.min(mean - half).max(0.0),
            high.max(mean + half).min(1.0),
        )
    });
    Some(quantity::interval(estimate, ends))
}

/// The Clopper–Pearson interval, by quantiles of F.
fn clopper_pearson(counts: FailureCounts) -> [f64; 2] {
    let (failed, ok) = (
        counts.failed as f64,
        (counts.exchanges - counts.failed) as f64,
    );
    let low = match counts.failed {
        0 => 0.0,
        _ => {
            let f = f_quantile(0.975, 2.0 * (ok + 1.0), 2.0 * failed);
            failed / (failed + (ok + 1.0) * f)
        }
    };
    let high = match counts.exchanges - counts.failed {
        0 => 1.0,
        _ => {
            let f = f_quantile(0.975, 2.0 * (failed + 1.0), 2.0 * ok);
            (failed + 1.0) * f / (ok + (failed + 1.0) * f)
        }
    };
    [low, high]
}

/// "3.2 percentage points (3.0–3.4) more", where the interval excludes 0.
fn signed_difference(difference: &Interval) -> Option<String> {
    let (low, high) = (difference.low?, difference.high?);
    let way = match (low > 0.0, high < 0.0) {
        (true, _) => "more",
        (_, true) => "fewer",
        _ => return None,
    };
    Some(format!("{} {way}", quantity::points(difference)))
}

/// Comparisons with too many failures, or significantly more on one side.
pub fn table(source: &TableInputs<'_>) -> Vec<Table> {
    let all = &source.view.failures;
    let what = all.first().map_or("", |one| one.failed.what.as_str());
    let table = Table::new("failed-exchanges", "Overhead", "what failed")
        .note(&format!("Differences are of the {what} that did not fail."))
        .fill(
            all,
            [
                name("level", |one| text(&one.level)),
                name("arm", |one| text(&one.arm)),
                name("against", |one| match one.against_level == one.level {
                    true => text(&one.against),
                    false => text(&one.against_level),
                }),
                words("failed", |one| share_cell(&one.failed)),
                words("failed in baseline", |one| share_cell(&one.against_failed)),
                figure("difference", |one| text(&one.difference_text)),
                words("no verdict on", |one| {
                    let metrics = one.no_verdict.iter().map(|metric| metric.label());
                    match metrics.collect::<Vec<&str>>().join(", ") {
                        none if none.is_empty() => MISSING.into(),
                        metrics => metrics.into(),
                    }
                }),
            ],
        );
    vec![table]
}

fn share_cell(failed: &FailedShare) -> TableCell {
    TableCell::from(failed.text.as_str()).detail(failed.classes.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_that_of_clopper_and_pearson() {
        let of = |failed, exchanges| clopper_pearson(FailureCounts { exchanges, failed });
        // By scipy.stats.beta.ppf, as binomtest(k, n).proportion_ci(method="exact") has it.
        for (counts, want) in [
            ((0, 100), [0.0, 0.036_216_693]),
            ((5, 1000), [0.001_625_420, 0.011_629_471]),
            ((100, 100), [0.963_783_307, 1.0]),
        ] {
            let found = of(counts.0, counts.1);
            for (found, want) in found.iter().zip(want) {
                assert!(
                    (found - want).abs() < 1e-6,
                    "{counts:?}: {found} for {want}"
                );
            }
        }
    }
}
