//! Sentences on waterfalls: the total, each step, and the checks against other orders.

use tare_record::metric::Metric;
use tare_record::plan::{GrammaticalNumber, Plan};
use tare_record::view::{Interval, View, WaterfallSequence, WaterfallStep, WaterfallView};

use super::at_level;
use super::clauses::{added_clause, capitalize, cpu_added, list, object};
use crate::quantity::{self, Sign};

/// Whether an arm belongs to a waterfall, and so has no sentence of its own.
pub fn is_in_waterfall(plan: &Plan, arm: &str) -> bool {
    let mut sequences = plan.waterfall.iter();
    sequences.any(|sequence| sequence.arms.iter().any(|name| name == arm))
}

/// The sentences at the main level: the total, each step, the checks.
pub fn sentences(plan: &Plan, view: &View, level: &str) -> Vec<String> {
    let waterfalls = at(view, level);
    let mut texts: Vec<String> = total(plan, &waterfalls, level).into_iter().collect();
    let steps = first_sequence(&waterfalls).map_or(0, |sequence| sequence.steps.len());
    for place in 0..steps {
        texts.extend(step(&waterfalls, place));
    }
    for one in &waterfalls {
        let checks = one.checks.iter();
        texts.extend(checks.map(|check| format!("{}: {check}.", heading(one))));
    }
    texts
}

/// The sentence at another level: the total.
pub fn total_sentence(plan: &Plan, view: &View, level: &str) -> Option<String> {
    total(plan, &at(view, level), level)
}

/// The sentences of a provisional run: estimates of each step, without intervals.
pub fn so_far(plan: &Plan, view: &View, level: &str) -> Vec<String> {
    let tell = |one: &&WaterfallView| {
        let sequence = one.sequences.first()?;
        let known = sequence.steps.iter().filter(|step| step.added.is_some());
        let steps: Vec<String> = known
            .map(|step| format!("{} {}", step.what, step.added_text))
            .collect();
        (!steps.is_empty()).then(|| {
            format!(
                "So far{}, parts of the {}: {}.",
                at_level(plan, level),
                one.label,
                list(&steps)
            )
        })
    };
    at(view, level).iter().filter_map(tell).collect()
}

fn at<'a>(view: &'a View, level: &str) -> Vec<&'a WaterfallView> {
    let all = view.waterfalls.iter();
    all.filter(|one| one.level == level && !one.sequences.is_empty())
        .collect()
}

fn first_sequence<'a>(waterfalls: &[&'a WaterfallView]) -> Option<&'a WaterfallSequence> {
    let sequence = waterfalls.first()?.sequences.first()?;
    sequence.missing.is_none().then_some(sequence)
}

fn heading(one: &WaterfallView) -> String {
    capitalize(&one.label)
}

/// "All 10 steps from direct to ext-authz-100 together add 0.9 ms (0.8–1.0) to the mean and cost … at 1000 requests/s."
fn total(plan: &Plan, waterfalls: &[&WaterfallView], level: &str) -> Option<String> {
    let sequence = first_sequence(waterfalls)?;
    let totals = waterfalls.iter().filter_map(|one| {
        let total = one.sequences.first()?.total?;
        Some((one.metric, total))
    });
    let clauses = StepClauses::of(totals, GrammaticalNumber::Plural);
    let steps = quantity::counted(sequence.steps.len() as u64, "step", "steps");
    let last = sequence.steps.last()?;
    let who = format!(
        "All {steps} from {} to {} together",
        sequence.first, last.arm
    );
    clauses.sentence(&who, &at_level(plan, level))
}

/// "On top of sidecars, mTLS adds 0.08 ms (0.06–0.10) to the mean and costs 0.05 s (0.04–0.06) of CPU per 1000 requests."
fn step(waterfalls: &[&WaterfallView], place: usize) -> Option<String> {
    let of = |one: &&WaterfallView| -> Option<(Metric, WaterfallStep)> {
        let step = one.sequences.first()?.steps.get(place)?;
        Some((one.metric, step.clone()))
    };
    let steps: Vec<(Metric, WaterfallStep)> = waterfalls.iter().filter_map(of).collect();
    let (_, first) = steps.first()?;
    let added = steps
        .iter()
        .filter_map(|(metric, step)| Some((*metric, step.added?)));
    let sequence = waterfalls.first()?.sequences.first()?;
    let before = place
        .checked_sub(1)
        .and_then(|place| sequence.steps.get(place));
    let who = match before {
        None => capitalize(&first.what),
        Some(before) => format!("On top of {}, {}", before.arm, first.what),
    };
    StepClauses::of(added, first.number).sentence(&who, "")
}

/// Clauses on a difference in several metrics.
#[derive(Default)]
struct StepClauses {
    /// "adds 0.08 ms (0.06–0.10) to the mean".
    clauses: Vec<String>,
    /// "the mean +0.01 ms (−0.01 to 0.02)": zero lies within the interval.
    undecided: Vec<String>,
}

impl StepClauses {
    fn of(
        differences: impl Iterator<Item = (Metric, Interval)>,
        number: GrammaticalNumber,
    ) -> StepClauses {
        let mut clauses = StepClauses::default();
        for (metric, added) in differences {
            let excludes_zero = match (added.low, added.high) {
                (Some(low), Some(high)) => low > 0.0 || high < 0.0,
                _ => continue,
            };
            if excludes_zero {
                let name = format!("the {}", metric.label());
                let clause = added_clause(metric, &name, &added, number, "requests");
                clauses.clauses.push(clause);
            } else {
                let amount = match metric {
                    Metric::Cpu => cpu_added(&added, "requests"),
                    _ => quantity::difference(metric.unit(), &added, Sign::Shown),
                };
                clauses
                    .undecided
                    .push(format!("{} {amount}", object(metric)));
            }
        }
        clauses
    }

    fn sentence(&self, who: &str, at: &str) -> Option<String> {
        let open = list(&self.undecided);
        match (self.clauses.is_empty(), self.undecided.is_empty()) {
            (true, true) => None,
            (true, false) => Some(format!("{who}{at}: {open}: undecided.")),
            (false, true) => Some(format!("{who} {}{at}.", list(&self.clauses))),
            (false, false) => Some(format!(
                "{who} {}{at}; {open}: undecided.",
                list(&self.clauses)
            )),
        }
    }
}
