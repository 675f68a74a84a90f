//! Waterfalls: means of a sequence of arms → the increment of each step, for additive metrics.

use tare_record::metric::Metric;
use tare_record::plan::{Arm, Level, Plan, Sequence, Subject};
use tare_record::view::{Interval, WaterfallPart, WaterfallSequence, WaterfallStep, WaterfallView};
use tare_stats::waterfall::{Increment, Waterfall, decompose};

use crate::quantity::{self, MISSING, Sign};
use crate::trials::Trials;

mod arm_difference;
mod tables;

pub use tables::tables;

/// Means and amounts: quantiles are not additive.
const METRICS: [Metric; 3] = [Metric::Mean, Metric::Cpu, Metric::MeshCpu];

/// The waterfalls of every level and metric, in every order of the plan.
pub fn waterfalls(plan: &Plan, trials: &Trials<'_>) -> Vec<WaterfallView> {
    if plan.waterfall.is_empty() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for level in &plan.levels {
        for metric in metrics(plan) {
            let sequences: Vec<WaterfallSequence> = plan
                .waterfall
                .iter()
                .map(|sequence| sequence_view(plan, trials, level, metric, sequence))
                .collect();
            all.push(WaterfallView {
                level: level.name.clone(),
                metric,
                label: metric.label().into(),
                unit: metric.unit(),
                parts: parts(&sequences),
                checks: checks(&sequences),
                sequences,
            });
        }
    }
    all
}

/// The metrics of the plan's waterfalls.
pub fn metrics(plan: &Plan) -> impl Iterator<Item = Metric> {
    METRICS.into_iter().filter(|metric| applies(plan, *metric))
}

/// CPU of proxies needs a proxy in every arm.
fn applies(plan: &Plan, metric: Metric) -> bool {
    let has_proxy = |name: &String| {
        let arm = plan.arms.iter().find(|arm| arm.name == *name);
        let mut instances = arm.iter().flat_map(|arm| &arm.topology.instances);
        instances.any(|instance| instance.role.is_proxy())
    };
    let mut arms = plan.waterfall.iter().flat_map(|order| &order.arms);
    metric != Metric::MeshCpu || arms.all(has_proxy)
}

fn sequence_view(
    plan: &Plan,
    trials: &Trials<'_>,
    level: &Level,
    metric: Metric,
    sequence: &Sequence,
) -> WaterfallSequence {
    let rows: Vec<Vec<Option<f64>>> = trials
        .blocks
        .iter()
        .map(|block| {
            let value = |arm: &String| value(trials, (arm, &level.name), *block, metric);
            sequence.arms.iter().map(value).collect()
        })
        .collect();
    let found =
        decompose(&rows).map(|found| JudgedIncrements::of(trials, level, metric, sequence, &found));
    let unit = metric.unit();
    let shown = |mean: Option<f64>| mean.map_or_else(missing, |mean| quantity::value(unit, mean));
    let ends = found.as_ref().map(|found| &found.means);
    let start = ends.and_then(|means| *means.first()?);
    let end = ends.and_then(|means| *means.last()?);
    let total = found.as_ref().and_then(|found| found.total);
    WaterfallSequence {
        name: sequence.name.clone(),
        order: sequence.arms.join(" → "),
        blocks: found.as_ref().map_or(0, |found| found.blocks as u32),
        missing: found
            .is_none()
            .then(|| "no block has a value of every arm of this order".to_owned()),
        first: sequence.arms.first().cloned().unwrap_or_default(),
        start,
        start_text: shown(start),
        end,
        end_text: shown(end),
        steps: steps(plan, sequence, found.as_ref(), metric),
        total,
        total_text: total.map_or_else(missing, |total| {
            quantity::difference(unit, &total, Sign::Shown)
        }),
    }
}

/// The increments of a sequence; none that begins or ends with an arm with too many failures.
struct JudgedIncrements {
    blocks: usize,
    means: Vec<Option<f64>>,
    steps: Vec<Option<Interval>>,
    total: Option<Interval>,
}

impl JudgedIncrements {
    fn of(
        trials: &Trials<'_>,
        level: &Level,
        metric: Metric,
        sequence: &Sequence,
        found: &Waterfall,
    ) -> JudgedIncrements {
        let is_judged = |arm: &String| {
            let failed = trials.failed.get(&(arm.clone(), level.name.clone()));
            failed.is_none_or(|failed| !failed.no_verdict.contains(&metric))
        };
        let judged: Vec<bool> = sequence.arms.iter().map(is_judged).collect();
        let between = |from: usize, to: usize, increment: Increment| {
            (judged[from] && judged[to])
                .then(|| quantity::interval(increment.estimate, increment.interval))
        };
        let means = found.means.iter().zip(&judged);
        let steps = found.steps.iter().enumerate();
        JudgedIncrements {
            blocks: found.blocks,
            means: means
                .map(|(mean, judged)| judged.then_some(*mean))
                .collect(),
            steps: steps
                .map(|(place, step)| between(place, place + 1, *step))
                .collect(),
            total: between(0, judged.len() - 1, found.total),
        }
    }
}

fn steps(
    plan: &Plan,
    sequence: &Sequence,
    found: Option<&JudgedIncrements>,
    metric: Metric,
) -> Vec<WaterfallStep> {
    let arm = |name: &str| -> Option<&Arm> { plan.arms.iter().find(|arm| arm.name == name) };
    // Of a total that may be nothing there are no shares.
    let total = found.and_then(|found| found.total);
    let total = total.filter(|total| total.low.is_some_and(|low| low > 0.0));
    sequence
        .arms
        .windows(2)
        .enumerate()
        .map(|(place, pair)| {
            let added = found.and_then(|found| *found.steps.get(place)?);
            let mean = |at: usize| found.and_then(|found| *found.means.get(at)?);
            let share_text = match (added, total) {
                (Some(added), Some(total)) => share(added.estimate / total.estimate),
                _ => missing(),
            };
            let what = match (sequence.adds.get(&pair[1]), arm(&pair[0]), arm(&pair[1])) {
                (Some(declared), _, _) => Some(declared.clone()),
                (None, Some(small), Some(large)) => arm_difference::describe(small, large),
                _ => None,
            };
            let what = what.unwrap_or_else(|| Subject::singular(&pair[1]));
            WaterfallStep {
                arm: pair[1].clone(),
                against: pair[0].clone(),
                what: what.text,
                number: what.number,
                from: mean(place),
                to: mean(place + 1),
                added,
                added_text: added.map_or_else(missing, |added| {
                    quantity::difference(metric.unit(), &added, Sign::Shown)
                }),
                share_text,
            }
        })
        .collect()
}

/// A share of the total in whole percents: increments have wide intervals, so more digits would mislead.
fn share(of_all: f64) -> String {
    let percent = (of_all * 100.0).round();
    if percent == 0.0 {
        return "< 1 %".into();
    }
    let sign = if percent < 0.0 { "−" } else { "" };
    format!("{sign}{:.0} %", percent.abs())
}

/// The mean over the copies of a cell in a block (the baseline may have two); lower bounds are ignored.
fn value(trials: &Trials<'_>, cell: (&String, &String), block: u32, metric: Metric) -> Option<f64> {
    let cell = trials.cells.get(&(cell.0.clone(), cell.1.clone()))?;
    let values: Vec<f64> = cell
        .range((block, 0)..=(block, u32::MAX))
        .filter_map(|(_, measured)| measured.values.get(&metric))
        .filter(|figured| !figured.is_lower_bound && figured.value.is_finite())
        .map(|figured| figured.value)
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn missing() -> String {
    MISSING.into()
}

/// Steps of the first order that another order has as well.
fn parts(sequences: &[WaterfallSequence]) -> Vec<WaterfallPart> {
    let Some((first, others)) = sequences.split_first() else {
        return Vec::new();
    };
    let of = |sequence: &WaterfallSequence, what: &str| -> Option<String> {
        let step = sequence.steps.iter().find(|step| step.what == what)?;
        Some(step.added_text.clone())
    };
    first
        .steps
        .iter()
        .filter(|step| others.iter().any(|other| of(other, &step.what).is_some()))
        .map(|step| WaterfallPart {
            what: step.what.clone(),
            added_texts: sequences
                .iter()
                .map(|sequence| of(sequence, &step.what).unwrap_or_else(missing))
                .collect(),
        })
        .collect()
}

/// Whether the order matters: a sentence per further order, with the steps whose intervals in the two orders are disjoint.
fn checks(sequences: &[WaterfallSequence]) -> Vec<String> {
    let Some((first, others)) = sequences.split_first() else {
        return Vec::new();
    };
    others
        .iter()
        .filter_map(|other| check(first, other))
        .collect()
}

fn check(first: &WaterfallSequence, other: &WaterfallSequence) -> Option<String> {
    let mut agree = 0;
    let mut disagreeing = Vec::new();
    for step in &first.steps {
        let there = other.steps.iter().find(|there| there.what == step.what);
        let Some(there) = there else { continue };
        let Some((one, two)) = step.added.zip(there.added) else {
            continue;
        };
        match overlap(&one, &two)? {
            Overlap::Overlapping => agree += 1,
            Overlap::Disjoint => disagreeing.push(format!(
                "{} {} instead of {}",
                step.what, there.added_text, step.added_text
            )),
        }
    }
    let order = &other.name;
    match (agree, disagreeing.is_empty()) {
        (0, true) => None,
        (1, true) => Some(format!(
            "in the order {order} the one part that both orders add alone agrees within its interval"
        )),
        (agree, true) => Some(format!(
            "in the order {order} the same {agree} parts add as much, within their intervals"
        )),
        (agree, false) => {
            let rest = match agree {
                0 => String::new(),
                1 => "; 1 other part agrees within its interval".into(),
                agree => format!("; {agree} other parts agree within their intervals"),
            };
            Some(format!(
                "in the order {order} it is {}{rest}",
                disagreeing.join(", ")
            ))
        }
    }
}

/// Whether two intervals have a value in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overlap {
    Overlapping,
    Disjoint,
}

fn overlap(a: &Interval, b: &Interval) -> Option<Overlap> {
    let (a, b) = ((a.low?, a.high?), (b.low?, b.high?));
    Some(if a.0 <= b.1 && b.0 <= a.1 {
        Overlap::Overlapping
    } else {
        Overlap::Disjoint
    })
}
