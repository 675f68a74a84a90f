//! Comparisons: metrics laid out by block → overheads with verdicts of the statistics.

use tare_record::metric::{Metric, Unit};
use tare_record::plan::{Compare, Plan};
use tare_record::view::{FailureView, Family, Interval, Noise, Outcome, Overhead};
use tare_stats::outcome::{self as judged, Extent, MORE_BLOCKS_MAX, Margin, MoreBlocks};
use tare_stats::paired::{
    BaselineCopies, Comparison, ComparisonFamily, ComparisonInput, Comparisons, MetricRole,
    PairedTable,
};
use tare_stats::power::{Design, detectable};
use tare_stats::{Difference, Latencies, RatioInterval};

use crate::quantity::{self, Sign};
use crate::steps::steps;
use crate::trials::{Attempts, CellName, Trials};
use crate::{failures, missing_quantiles};

/// Why a metric with a lower bound among its values has no verdict.
pub const BOUNDED: &str = "it includes unanswered requests";

/// The results of all comparisons.
#[derive(Debug, Default)]
pub struct Judged {
    /// Overheads, level by level.
    pub overheads: Vec<Overhead>,
    /// Noise per level and metric.
    pub noise: Vec<Noise>,
    /// Comparisons with the baseline in which failures matter; steps have none of their own.
    pub failures: Vec<FailureView>,
}

/// Cells that are compared with one cell.
struct Group {
    base: CellName,
    copies: BaselineCopies,
    others: Vec<CellName>,
    /// Those of `others` that are reported; the rest only contributes to the residual.
    reported: Vec<CellName>,
    family: Family,
}

/// Judges every comparison that the plan declares.
pub fn judge(plan: &Plan, trials: &Trials<'_>) -> Judged {
    let mut judged = Judged::default();
    let groups = groups(plan, trials);
    let cells = |name: Family| -> usize {
        groups
            .iter()
            .filter(|g| g.family == name)
            .map(|g| g.reported.len())
            .sum()
    };
    // The family is declared by the plan, whether or not everything was measured.
    let metrics = plan.primary.len();
    let primary = match plan.compare {
        Compare::Arms => ComparisonFamily::new(
            plan.arms.len().saturating_sub(1),
            plan.levels.len(),
            metrics,
        ),
        Compare::Levels => ComparisonFamily::new(
            plan.levels.len().saturating_sub(1),
            plan.arms.len(),
            metrics,
        ),
    };
    let step = ComparisonFamily::new(1, cells(Family::Step), metrics);
    for group in &groups {
        if group.family == Family::Primary {
            let reported = group.reported.iter();
            let failed =
                reported.filter_map(|cell| failures::compared(plan, trials, &group.base, cell));
            judged.failures.extend(failed);
        }
        for metric in Metric::ALL {
            let is_primary = plan.primary.contains(&metric);
            let family = match group.family {
                Family::Step if !is_primary => continue,
                Family::Step => &step,
                _ => &primary,
            };
            MetricJudge {
                plan,
                trials,
                group,
                metric,
                family,
                is_primary,
            }
            .add_to(&mut judged);
        }
    }
    judged
}

fn groups(plan: &Plan, trials: &Trials<'_>) -> Vec<Group> {
    let cell = |arm: &str, level: &str| (arm.to_string(), level.to_string());
    let copies_of = |arm: usize| match plan.aa_check {
        true if arm == 0 => BaselineCopies::Two,
        _ => BaselineCopies::One,
    };
    let was_run = |arm: &str| trials.cells.keys().any(|(name, _)| name == arm);
    let arms: Vec<&str> = plan
        .arms
        .iter()
        .map(|a| a.name.as_str())
        .filter(|a| was_run(a))
        .collect();
    let mut groups = Vec::new();
    match plan.compare {
        Compare::Arms => {
            let Some(base) = plan.arms.first() else {
                return groups;
            };
            for level in &plan.levels {
                let others: Vec<CellName> = arms
                    .iter()
                    .filter(|arm| **arm != base.name)
                    .map(|arm| cell(arm, &level.name))
                    .collect();
                groups.push(Group {
                    base: cell(&base.name, &level.name),
                    copies: copies_of(0),
                    reported: others.clone(),
                    others,
                    family: Family::Primary,
                });
            }
            groups.extend(step_groups(plan, &arms));
        }
        Compare::Levels => {
            for (place, arm) in plan.arms.iter().enumerate() {
                let mut names = plan.levels.iter().map(|level| cell(&arm.name, &level.name));
                let Some(base) = names.next() else { continue };
                let others: Vec<CellName> = names.collect();
                groups.push(Group {
                    base,
                    copies: copies_of(place),
                    reported: others.clone(),
                    others,
                    family: Family::Primary,
                });
            }
        }
    }
    groups
}

/// Each step at each level. The other arms stay in the table: they contribute to the residual.
fn step_groups(plan: &Plan, arms: &[&str]) -> Vec<Group> {
    let mut groups = Vec::new();
    for level in &plan.levels {
        for step in steps(plan) {
            if !arms.contains(&step.arm.as_str()) || !arms.contains(&step.from.as_str()) {
                continue;
            }
            let cell = |arm: &str| (arm.to_string(), level.name.clone());
            groups.push(Group {
                base: cell(&step.from),
                copies: BaselineCopies::One,
                others: arms
                    .iter()
                    .filter(|arm| **arm != step.from)
                    .map(|arm| cell(arm))
                    .collect(),
                reported: vec![cell(&step.arm)],
                family: Family::Step,
            });
        }
    }
    groups
}

/// One metric of one group.
struct MetricJudge<'a> {
    plan: &'a Plan,
    trials: &'a Trials<'a>,
    group: &'a Group,
    metric: Metric,
    family: &'a ComparisonFamily,
    is_primary: bool,
}

impl MetricJudge<'_> {
    fn add_to(&self, judged: &mut Judged) {
        // A metric that the baseline cannot have (CPU of proxies) is skipped, unless it is primary: then its reason is reported.
        if !self.is_primary && self.base_is_missing() {
            return;
        }
        let Some(table) = self.table() else { return };
        let input = ComparisonInput {
            table: &table,
            role: if self.is_primary {
                MetricRole::Primary
            } else {
                MetricRole::Descriptive
            },
            margin: margin(self.plan, self.metric),
            resolution: resolution(self.metric),
        };
        let comparisons = self.family.compare(&input);
        for comparison in &comparisons.arms {
            let cell = &self.group.others[comparison.arm];
            if self.group.reported.contains(cell) {
                judged
                    .overheads
                    .push(self.overhead(cell, comparison, &comparisons));
            }
        }
        if self.group.family == Family::Primary {
            judged.noise.push(self.noise(&comparisons));
        }
    }

    fn table(&self) -> Option<PairedTable> {
        let rows: Vec<Vec<Option<f64>>> = self
            .trials
            .blocks
            .iter()
            .map(|block| {
                let copies = self.group.copies.count() as u32;
                let of = |cell, copy| value(self.trials, cell, (*block, copy), self.metric);
                (0..copies)
                    .map(|copy| of(&self.group.base, copy))
                    .chain(self.group.others.iter().map(|cell| of(cell, 0)))
                    .collect()
            })
            .collect();
        // Cannot fail: values are positive and all rows have the same width.
        PairedTable::new(self.group.copies, self.group.others.len(), &rows).ok()
    }

    fn base_is_missing(&self) -> bool {
        let base = self.trials.cells.get(&self.group.base);
        base.is_some_and(|trials| {
            !trials.is_empty()
                && trials
                    .values()
                    .all(|trial| !trial.values.contains_key(&self.metric))
        }) && self.metric.may_be_absent()
    }

    fn is_bounded(&self, cell: &CellName) -> bool {
        self.trials.cells.get(cell).is_some_and(|trials| {
            trials
                .values()
                .any(|t| t.values.get(&self.metric).is_some_and(|f| f.is_lower_bound))
        })
    }

    fn repeats(&self, cell: &CellName) -> Option<String> {
        let base = &self.group.base;
        let of = |cell| self.trials.attempts.get(cell).copied().unwrap_or_default();
        let name = |name: &CellName| match cell.1 == base.1 {
            true => name.0.clone(),
            false => format!("{} at {}", name.0, name.1),
        };
        repeats([of(cell), of(base)], &[name(cell), name(base)])
    }

    fn overhead(&self, cell: &CellName, comparison: &Comparison, all: &Comparisons) -> Overhead {
        let ends = comparison.intervals.map(|intervals| intervals.decision);
        let ratio = ratio_interval(comparison.ratio, ends);
        let added = match (comparison.difference, all.baseline, comparison.ratio) {
            (Some(difference), _, _) => Some(difference_interval(difference)),
            (None, Some(base), Some(ratio)) => Some(quantity::interval(base * (ratio - 1.0), None)),
            _ => None,
        };
        let outcome = self.outcome(cell, comparison);
        let margin_text = margin_text(self.plan, self.metric, all.baseline);
        let unit = self.metric.unit();
        let missing = || quantity::MISSING.to_string();
        Overhead {
            level: cell.1.clone(),
            arm: cell.0.clone(),
            against: self.group.base.0.clone(),
            against_level: self.group.base.1.clone(),
            metric: self.metric,
            unit,
            family: if self.is_primary {
                self.group.family
            } else {
                Family::Descriptive
            },
            base: all.baseline,
            pairs: comparison.blocks as u32,
            margin: all.margin,
            added_text: added.map_or_else(missing, |i| quantity::difference(unit, &i, Sign::Shown)),
            ratio_text: ratio.map_or_else(missing, |i| quantity::change(&i, Sign::Shown)),
            outcome_text: outcome_text(&outcome, &margin_text),
            margin_text,
            repeats: self.repeats(cell),
            added,
            ratio,
            outcome,
        }
    }

    fn outcome(&self, cell: &CellName, comparison: &Comparison) -> Outcome {
        if self.is_bounded(cell) || self.is_bounded(&self.group.base) {
            return Outcome::None {
                reason: BOUNDED.into(),
            };
        }
        let base = &self.group.base;
        let there = match base.1 == cell.1 {
            true => format!(" in {}", base.0),
            false => format!(" at {}", base.1),
        };
        let failed = |cell: &CellName| self.trials.failed.get(cell);
        if let Some(reason) =
            failures::reason(self.metric, [(failed(cell), ""), (failed(base), &there)])
        {
            return Outcome::None { reason };
        }
        let unknown = |cell: &CellName| {
            let trials = self.trials.cells.get(cell);
            trials.is_some_and(|t| t.values().all(|t| !t.values.contains_key(&self.metric)))
        };
        if unknown(cell) || unknown(&self.group.base) {
            return Outcome::None {
                reason: missing_quantiles::reason(
                    self.trials,
                    [cell, &self.group.base],
                    self.metric,
                ),
            };
        }
        view_outcome(comparison.outcome, self.is_primary, too_few)
    }

    fn noise(&self, all: &Comparisons) -> Noise {
        let design = Design {
            blocks: self.trials.blocks.len(),
            copies: self.group.copies,
        };
        let finite = |value: Option<f64>| value.filter(|v| v.is_finite());
        Noise {
            level: self.group.base.1.clone(),
            metric: self.metric,
            residual: finite(all.noise),
            minimum_detectable: finite(
                all.noise
                    .and_then(|noise| detectable(noise, design, self.family)),
            ),
        }
    }
}

/// A value to compare; `None` for lower bounds, and in cells with too many failures.
pub fn value(
    trials: &Trials<'_>,
    cell: &CellName,
    (block, copy): (u32, u32),
    metric: Metric,
) -> Option<f64> {
    let failed = trials.failed.get(cell);
    if failed.is_some_and(|failed| failed.no_verdict.contains(&metric)) {
        return None;
    }
    let measured = trials.cells.get(cell)?.get(&(block, copy))?;
    let figured = measured.values.get(&metric)?;
    (!figured.is_lower_bound && figured.value > 0.0 && figured.value.is_finite())
        .then_some(figured.value)
}

/// A ratio with the ends of its interval, if it has one.
pub fn ratio_interval(ratio: Option<f64>, ends: Option<RatioInterval>) -> Option<Interval> {
    ratio.map(|ratio| quantity::interval(ratio, ends.map(|ends| (ends.low, ends.high))))
}

pub fn difference_interval(found: Difference) -> Interval {
    quantity::interval(found.estimate, Some((found.low, found.high)))
}

/// The relative step of a metric's values: that of histograms, 0 for counts and clocks.
pub fn resolution(metric: Metric) -> f64 {
    match metric.unit() {
        Unit::Nanoseconds => Latencies::RESOLUTION,
        _ => 0.0,
    }
}

/// The margin of a metric: a share, and for latencies an absolute amount.
pub fn margin(plan: &Plan, metric: Metric) -> Margin {
    Margin {
        relative: plan.margin,
        absolute: match metric.unit() {
            Unit::Nanoseconds => plan.margin_absolute_ns as f64,
            _ => 0.0,
        },
    }
}

/// The margin that applies to this baseline (share or amount), as declared.
pub fn margin_text(plan: &Plan, metric: Metric, baseline: Option<f64>) -> String {
    let margin = margin(plan, metric);
    match baseline.map(|baseline| margin.relative_to(baseline)) {
        Some(used) if used > margin.relative => quantity::declared(metric.unit(), margin.absolute),
        _ => quantity::percent(margin.relative),
    }
}

/// Difference of the shares of repeated trials above which it is reported with the verdict.
const REPEATS_APART: f64 = 0.2;

/// A sentence if one of two cells was repeated far more often than the other.
pub fn repeats([here, there]: [Attempts; 2], names: &[String; 2]) -> Option<String> {
    let apart = (here.repeated_share()? - there.repeated_share()?).abs();
    let [name, other] = names;
    (apart > REPEATS_APART).then(|| {
        format!(
            "{} of {} trials of {name} were repeated, {} of {} of {other}.",
            here.repeated, here.planned, there.repeated, there.planned
        )
    })
}

/// A statistical outcome as an outcome of the view; `too_few` is the reason for too few blocks.
pub fn view_outcome(
    found: judged::Outcome,
    is_primary: bool,
    too_few: fn(usize) -> String,
) -> Outcome {
    match found {
        judged::Outcome::TooFewBlocks { complete } => Outcome::None {
            reason: too_few(complete),
        },
        _ if !is_primary => Outcome::Descriptive,
        judged::Outcome::Differs { extent, .. } => Outcome::Differs {
            within_margin: extent == Extent::WithinMargin,
        },
        judged::Outcome::Same => Outcome::Same,
        judged::Outcome::Undecided { more } => Outcome::Undecided {
            more_blocks: match more {
                MoreBlocks::About(more) => Some(more),
                MoreBlocks::MoreThan(_) => None,
            },
        },
    }
}

fn too_few(complete: usize) -> String {
    let need = "3 are needed";
    match complete {
        0 => format!("no block has a trial of both that counts; {need}"),
        1 => format!("only 1 block has a trial of both that counts; {need}"),
        more => format!("only {more} blocks have a trial of both that counts; {need}"),
    }
}

pub fn outcome_text(outcome: &Outcome, margin: &str) -> String {
    match outcome {
        Outcome::Differs {
            within_margin: false,
        } => "differs".into(),
        Outcome::Differs {
            within_margin: true,
        } => format!("differs, by less than {margin}"),
        Outcome::Same => format!("changes by less than {margin}"),
        Outcome::Undecided { more_blocks } => format!("undecided; {}", more_text(*more_blocks)),
        Outcome::Descriptive => "not judged".into(),
        Outcome::None { reason } => format!("no verdict: {reason}"),
    }
}

/// The number of further blocks that would decide it, as text.
pub fn more_text(more: Option<u32>) -> String {
    match more {
        Some(more) => format!(
            "about {} would tell",
            quantity::counted(u64::from(more), "more block", "more blocks")
        ),
        None => format!("more than {MORE_BLOCKS_MAX} more blocks would be needed"),
    }
}
