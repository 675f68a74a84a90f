//! Findings: the last arm first, then the other arms, the steps and the other levels.

use tare_record::metric::{Metric, Unit};
use tare_record::plan::{Compare, Plan, Subject};
use tare_record::view::{
    AssertionOutcome, Family, Outcome, Overhead, Sentence, SentenceKind, View, ViewState,
};

use super::clauses::{Clauses, added_text, capitalize, list, metric_name, object, subject};
use super::{at_level, caveats, failures, level_words, levels, reasons, sentence, waterfall};
use crate::failures::is_unjudged;
use crate::quantity;
use crate::saturation;
use crate::steps::steps;
use crate::tables::figures::exchanges;

/// The sentences of findings: failures, comparisons, reasons for no verdict, assertions.
pub fn findings(plan: &Plan, view: &View) -> Vec<Sentence> {
    if view.run.blocks_complete == 0
        && view
            .levels
            .iter()
            .all(|l| l.cells.iter().all(|c| c.trials_fit == 0))
    {
        return vec![sentence(
            SentenceKind::Finding,
            "No trial was fit: there is nothing to tell yet.".into(),
        )];
    }
    // Failures come first: the rest is about the exchanges that succeeded.
    let mut texts = failures::failures(plan, view);
    match (view.run.state, plan.compare) {
        (ViewState::Provisional, _) => {
            let so_far = provisional(plan, view);
            texts.splice(..0, so_far.first().cloned());
            texts.extend(so_far.into_iter().skip(1));
        }
        (_, Compare::Arms) => texts.extend(arm_sentences(plan, view)),
        (_, Compare::Levels) => texts.extend(levels::sentences(plan, view)),
    }
    if view.run.state != ViewState::Provisional {
        texts.extend(reasons::reasons(plan, view));
    }
    texts.extend(assertion_sentences(view));
    texts
        .into_iter()
        .map(|text| sentence(SentenceKind::Finding, text))
        .collect()
}

/// The level of the main finding: the last one below the knee, else the last.
fn main_level(view: &View) -> Option<&str> {
    view.levels
        .iter()
        .rev()
        .find(|level| level.beyond_knee.is_none())
        .or(view.levels.last())
        .map(|level| level.name.as_str())
}

/// The overheads of an arm at a level that have sentences.
pub fn primary<'a>(
    view: &'a View,
    plan: &Plan,
    family: Family,
    arm: &str,
    level: &str,
) -> Vec<&'a Overhead> {
    let mut found: Vec<&Overhead> = view
        .overheads
        .iter()
        .filter(|o| o.family == family && o.arm == arm && o.level == level)
        // Those without a verdict because of failures are reported with the failures.
        .filter(|o| !is_unjudged(view, o))
        .collect();
    // In the order in which the experiment declares its primary metrics.
    found.sort_by_key(|o| plan.primary.iter().position(|metric| *metric == o.metric));
    found
}

/// An arm as the subject of a sentence.
fn arm_subject(plan: &Plan, arm: &str) -> Subject {
    let found = plan.arms.iter().find(|one| one.name == arm);
    found.map_or_else(|| Subject::singular(arm), |one| one.subject.clone())
}

/// Assertions that failed or are undecided.
fn assertion_sentences(view: &View) -> Vec<String> {
    let failing = view
        .assertions
        .iter()
        .filter(|one| one.outcome != AssertionOutcome::Passed);
    failing
        .map(|one| {
            let word = capitalize(one.outcome.word());
            format!("{word}: `{}`: {}.", one.text, one.reason)
        })
        .collect()
}

fn arm_sentences(plan: &Plan, view: &View) -> Vec<String> {
    let Some(level) = main_level(view) else {
        return Vec::new();
    };
    let at = at_level(plan, level);
    let mut texts = Vec::new();
    // The last arm of an experiment is usually the complete one; the arms before it lead up to it.
    for arm in view
        .arms
        .iter()
        .rev()
        .filter(|arm| !arm.baseline && arm.not_run.is_none())
        .filter(|arm| !waterfall::is_in_waterfall(plan, &arm.name))
    {
        let arm_subject = arm_subject(plan, &arm.name);
        let overheads = primary(view, plan, Family::Primary, &arm.name, level);
        let clauses = Clauses::of(overheads, arm_subject.number, exchanges(view));
        let subject = subject(&arm_subject, &arm.name);
        texts.extend(clauses.sentence("", &subject, &at, arm_subject.number));
    }
    texts.extend(waterfall::sentences(plan, view, level));
    texts.extend(step_sentences(plan, view, level, &at));
    for other in view
        .levels
        .iter()
        .filter(|l| l.name != level && l.beyond_knee.is_none())
    {
        texts.extend(other_level(plan, view, &other.name));
        texts.extend(waterfall::total_sentence(plan, view, &other.name));
    }
    texts
}

/// What each step adds to the arm it extends: "On top of both-sidecars, mTLS costs 0.06 s (0.05–0.07) of CPU per 1000 requests".
fn step_sentences(plan: &Plan, view: &View, level: &str, at: &str) -> Vec<String> {
    let mut texts = Vec::new();
    // Steps of a waterfall have sentences of their own.
    let alone = |arm: &str| !waterfall::is_in_waterfall(plan, arm);
    for step in steps(plan).iter().filter(|step| alone(&step.arm)) {
        let overheads = primary(view, plan, Family::Step, &step.arm, level);
        if overheads.is_empty() {
            continue;
        }
        let number = step.what.number;
        let before = format!("On top of {}, ", step.from);
        let clauses = Clauses::of(overheads, number, exchanges(view));
        texts.extend(clauses.sentence(&before, &step.what.text, at, number));
    }
    texts
}

/// One sentence for another level: the first primary metric of every arm; at maximum rate the throughput.
fn other_level(plan: &Plan, view: &View, level: &str) -> Option<String> {
    let mut primary = plan.primary.iter();
    let carried = primary.find(|metric| metric.is_rate() && saturation::is_max_rate(plan, level));
    let metric = *carried.or(plan.primary.first())?;
    let clauses: Vec<String> = view
        .overheads
        .iter()
        .filter(|o| o.family == Family::Primary && o.level == level && o.metric == metric)
        .filter(|o| !waterfall::is_in_waterfall(plan, &o.arm))
        .filter_map(|o| match &o.outcome {
            Outcome::None { .. } => None,
            Outcome::Differs { .. } => Some(format!("{} {}", o.arm, o.added_text)),
            Outcome::Undecided { .. } => Some(format!("{} {} (undecided)", o.arm, o.added_text)),
            _ => Some(format!("{} {}", o.arm, o.outcome_text)),
        })
        .collect();
    (!clauses.is_empty()).then(|| {
        format!(
            "At {}, {}: {}.",
            level_words(plan, level),
            metric_name(metric),
            clauses.join("; ")
        )
    })
}

/// Findings with fewer than three blocks: estimates without intervals.
fn provisional(plan: &Plan, view: &View) -> Vec<String> {
    let blocks = quantity::counted(u64::from(view.run.blocks_complete), "block", "blocks");
    let mut texts = vec![format!(
        "Provisional, after {blocks} of {}: no interval and no verdict before block 3.",
        view.run.blocks_planned
    )];
    let Some(level) = main_level(view) else {
        return texts;
    };
    if plan.compare == Compare::Levels {
        texts.extend(levels::so_far(plan, view));
        return texts;
    }
    texts.extend(waterfall::so_far(plan, view, level));
    let alone = view.arms.iter().rev().filter(|arm| arm.not_run.is_none());
    for arm in alone.filter(|arm| !waterfall::is_in_waterfall(plan, &arm.name)) {
        let clauses: Vec<String> = primary(view, plan, Family::Primary, &arm.name, level)
            .iter()
            .filter(|o| o.added.is_some())
            .map(|o| {
                format!(
                    "{} {}",
                    metric_name(o.metric),
                    added_text(o, exchanges(view))
                )
            })
            .collect();
        if !clauses.is_empty() {
            texts.push(format!(
                "So far{}, {}: {}.",
                at_level(plan, level),
                arm_subject(plan, &arm.name).text,
                list(&clauses)
            ));
        }
    }
    texts
}

/// How to read the findings: what is compared, and what the intervals mean; `None` without intervals.
fn how_to_read(plan: &Plan, view: &View, sentences: &[Sentence]) -> Option<String> {
    let mut outcomes = view.overheads.iter().map(|one| &one.outcome);
    outcomes.find(|outcome| !matches!(outcome, Outcome::None { .. } | Outcome::Descriptive))?;
    let compared = match plan.compare {
        Compare::Levels => String::from("Each level is compared with the first"),
        Compare::Arms => {
            let baseline = view.arms.iter().find(|arm| arm.baseline)?;
            let other = match view.overheads.iter().any(|one| one.family == Family::Step) {
                true => " unless another arm is named",
                false => "",
            };
            let figures = baseline_figures(plan, view).unwrap_or_default();
            format!("Differences are from {}{figures}{other}", baseline.name)
        }
    };
    let undecided = match sentences.iter().any(|one| one.text.contains("undecided")) {
        true => {
            " Undecided is not \"no difference\": whatever lies within the interval is possible. The number of blocks that would tell \
             holds if the estimate stays as it is."
        }
        false => "",
    };
    let latency = match plan
        .primary
        .iter()
        .any(|one| one.unit() == Unit::Nanoseconds)
    {
        true => " Mean, median and p99 are those of latency.",
        false => "",
    };
    Some(format!(
        "{compared}; brackets behind a difference hold its 95 % confidence interval.{latency}{undecided}"
    ))
}

/// The figures of the baseline at the main level: " (median 0.312 ms, CPU 0.142 s per 1000 requests at 2000 requests/s)".
fn baseline_figures(plan: &Plan, view: &View) -> Option<String> {
    let level = main_level(view)?;
    let of = |metric: &Metric| {
        let mut compared = view.overheads.iter();
        let found = compared.find(|one| {
            one.family == Family::Primary && one.level == level && one.metric == *metric
        })?;
        let value = found.base?;
        let value = match metric {
            Metric::Cpu | Metric::CpuTotal => {
                let seconds = quantity::value(found.unit, value);
                format!("{seconds} per 1000 {}", exchanges(view))
            }
            _ => quantity::value(found.unit, value),
        };
        Some(format!("{} {value}", metric_name(*metric)))
    };
    let figures: Vec<String> = plan.primary.iter().filter_map(of).collect();
    (!figures.is_empty()).then(|| format!(" ({}{})", figures.join(", "), at_level(plan, level)))
}

/// Notes: how to read the findings, arms not run, the minimum detectable difference, the A/A check, the knee, caveats.
pub fn notes(plan: &Plan, view: &View, sentences: &[Sentence]) -> Vec<Sentence> {
    let mut texts: Vec<String> = how_to_read(plan, view, sentences).into_iter().collect();
    for arm in &view.arms {
        if let Some(reason) = &arm.not_run {
            texts.push(format!("{} was not run: {reason}.", arm.name));
        }
    }
    if let (Some(metric), Some(level)) = (plan.primary.first(), main_level(view)) {
        let noise = view
            .noise
            .iter()
            .find(|n| n.metric == *metric && n.level == level);
        if let Some(detectable) = noise.and_then(|noise| noise.minimum_detectable) {
            texts.push(format!(
                "Minimum detectable difference with {} and this noise: {}{}, {} (power 80 %).",
                quantity::counted(view.run.blocks_complete.into(), "block", "blocks"),
                object(*metric),
                at_level(plan, level),
                quantity::percent(detectable)
            ));
        }
    }
    if let Some(check) = view
        .baseline_check
        .as_ref()
        .filter(|check| check.differences.iter().all(|one| !one.passes_margin))
    {
        let within = match check.differences.is_empty() {
            true => "",
            false => " beyond the margin",
        };
        texts.push(format!(
            "The baseline measured twice: no difference{within} shown in {}.",
            quantity::counted(check.comparisons.into(), "comparison", "comparisons")
        ));
    }
    texts.extend(saturation::knee(plan, view));
    texts.extend(plan.notes.iter().cloned());
    texts.extend(caveats::caveats(plan, &view.published));
    texts
        .into_iter()
        .map(|text| sentence(SentenceKind::Note, text))
        .collect()
}
