//! The view of a run: all figures and sentences of a report, computed once from the records.

mod published;

use tare_record::FORMAT_VERSION;
use tare_record::metric::Metric;
use tare_record::plan::{Compare, Plan};
use tare_record::record::RunProgress;
use tare_record::view::{
    ArmHead, Better, CellView, Family, LevelView, MetricHead, RunHead, View, ViewState,
};
use tare_stats::knee::Knee;
use tare_stats::outcome::BLOCKS_MIN;

use crate::read::Run;
use crate::tables::{self, TableInputs};
use crate::trials::{Trials, arms_run, trials};
use crate::{
    assertion, baseline, cells, factor, facts, faults, judge, missing_quantiles, profiles,
    saturation, verdict, waterfall,
};

/// Computes the view of a run, complete or not.
#[must_use]
pub fn view(run: &Run) -> View {
    let plan = &run.plan;
    let mut trials = trials(run);
    let rows = std::mem::take(&mut trials.rows);
    let judged = judge::judge(plan, &trials);
    let levels = level_views(plan, &trials);
    let (faults, unread) = faults::faults(run);
    let skipped = run.skipped.iter().chain(&trials.skipped).chain(&unread);
    let skipped: Vec<String> = skipped.cloned().collect();
    let mut view = View {
        version: FORMAT_VERSION,
        run: head(run, &trials),
        verdict: Vec::new(),
        assertions: assertion::judge(plan, &trials, &judged.overheads),
        compare: plan.compare,
        metrics: Metric::ALL
            .iter()
            .map(|metric| metric_head(*metric, &plan.primary))
            .collect(),
        arms: arms(run, trials.complete_blocks),
        levels,
        overheads: judged.overheads,
        failures: judged.failures,
        faults,
        waterfalls: waterfall::waterfalls(plan, &trials),
        published: Vec::new(),
        factors: Vec::new(),
        baseline_check: baseline::check(plan, &trials),
        noise: judged.noise,
        trials: rows,
        tables: Vec::new(),
        flame_graphs: profiles::flame_graphs(&run.profiles),
        unreadable_files: skipped,
        facts: facts::facts(plan, run.environment.as_ref()),
        checks: run
            .environment
            .as_ref()
            .map(|e| e.checks.clone())
            .unwrap_or_default(),
        plan_text: plan_text(plan),
    };
    view.factors = factor::factors(plan, &view.levels);
    view.published = published::published(plan, &view);
    view.tables = tables::tables(&TableInputs {
        run,
        trials: &trials,
        view: &view,
    });
    view.verdict = verdict::verdict(run, &view);
    view
}

/// The figures of all cells alone, without comparisons: what a history keeps.
#[must_use]
pub fn levels(run: &Run) -> Vec<LevelView> {
    level_views(&run.plan, &trials(run))
}

fn level_views(plan: &Plan, trials: &Trials<'_>) -> Vec<LevelView> {
    let levels = plan.levels.iter();
    levels
        .map(|level| level_view(plan, trials, level))
        .collect()
}

fn head(run: &Run, trials: &Trials<'_>) -> RunHead {
    let plan = &run.plan;
    let records = || run.trials.iter().map(|trial| &trial.record);
    let first = records().map(|record| record.started_unix_us).min();
    let last = records()
        .map(|record| record.started_unix_us + record.took_ns / 1000)
        .max();
    let state = run.state.as_ref();
    let started = state.map(|s| s.started_unix_us).or(first).unwrap_or(0);
    // A killed run lasted at least until its last record.
    let ended = state
        .and_then(|s| s.ended_unix_us)
        .or(last)
        .unwrap_or(started);
    let took_ns = ended.saturating_sub(started).saturating_mul(1000);
    let measuring_ns: u64 = records()
        .filter_map(|record| record.load.iter().map(|role| role.window_ns).max())
        .sum();
    let progress = state.map_or(RunProgress::Running, |s| s.state);
    let blocks_complete = trials.complete_blocks;
    RunHead {
        id: run.id(),
        experiment: plan.experiment.clone(),
        question: plan.question.clone(),
        started: rfc3339(started),
        took_ns,
        measuring_share: if took_ns == 0 {
            0.0
        } else {
            measuring_ns as f64 / took_ns as f64
        },
        state: view_state(plan, progress, blocks_complete),
        progress,
        end_reason: state.and_then(|s| s.reason.clone()),
        form: plan.form,
        blocks_complete,
        blocks_planned: plan.blocks.max,
        command: state.map_or_else(String::new, |s| s.command.join(" ")),
        tare: run
            .environment
            .as_ref()
            .map_or_else(String::new, |e| e.tare.clone()),
    }
}

fn view_state(plan: &Plan, progress: RunProgress, blocks: u32) -> ViewState {
    // With adaptive stopping a complete run may have fewer blocks than the maximum.
    let enough = progress == RunProgress::Complete && blocks >= plan.blocks.min;
    match blocks {
        few if few < BLOCKS_MIN as u32 => ViewState::Provisional,
        _ if enough => ViewState::Complete,
        _ => ViewState::Partial,
    }
}

/// A time as RFC 3339 in UTC.
#[must_use]
pub fn rfc3339(unix_us: u64) -> String {
    i64::try_from(unix_us)
        .ok()
        .and_then(|us| jiff::Timestamp::from_microsecond(us).ok())
        .and_then(|time| time.round(jiff::Unit::Second).ok())
        .map_or_else(String::new, |time| time.to_string())
}

/// A metric with its label and unit.
#[must_use]
pub fn metric_head(metric: Metric, primary: &[Metric]) -> MetricHead {
    MetricHead {
        metric,
        label: metric.label().into(),
        unit: metric.unit(),
        family: if primary.contains(&metric) {
            Family::Primary
        } else {
            Family::Descriptive
        },
        better: if metric.is_rate() {
            Better::Higher
        } else {
            Better::Lower
        },
    }
}

fn arms(run: &Run, complete_blocks: u32) -> Vec<ArmHead> {
    let measured = arms_run(run);
    let compares_arms = run.plan.compare == Compare::Arms;
    run.plan
        .arms
        .iter()
        .enumerate()
        .map(|(place, arm)| ArmHead {
            name: arm.name.clone(),
            about: arm.about.clone(),
            baseline: place == 0 && compares_arms,
            // Within the first block it may still be run.
            not_run: (!measured.is_empty()
                && !measured.contains(arm.name.as_str())
                && (complete_blocks > 0 || arm.requires.is_some()))
            .then(|| {
                arm.requires.as_ref().map_or_else(
                    || "no trial of it was made".to_string(),
                    |needs| format!("it needs {needs}"),
                )
            }),
        })
        .collect()
}

fn level_view(plan: &Plan, trials: &Trials<'_>, level: &tare_record::plan::Level) -> LevelView {
    let name = |arm: &str| (arm.to_string(), level.name.clone());
    let names: Vec<(String, String)> = plan.arms.iter().map(|arm| name(&arm.name)).collect();
    let cells: Vec<CellView> = names
        .iter()
        .map(|name| cells::cell(plan, trials, name))
        .collect();
    // A load at maximum rate or in a closed loop is expected to saturate its target.
    let beyond = match saturation::is_max_rate(plan, &level.name)
        || saturation::is_closed(plan, &level.name)
    {
        true => None,
        false => plan
            .arms
            .iter()
            .find_map(|arm| beyond_knee(trials, &name(&arm.name))),
    };
    LevelView {
        name: level.name.clone(),
        values: level
            .values
            .iter()
            .map(|(key, value)| (key.clone(), words(value)))
            .collect(),
        beyond_knee: beyond,
        missing: missing_quantiles::describe(trials, &names),
        cells,
    }
}

fn words(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// Why a level lies at or beyond the knee, from one cell; `None` unless at least half of its trials do.
fn beyond_knee(trials: &Trials<'_>, name: &(String, String)) -> Option<String> {
    let cell = trials.cells.get(name)?;
    let places: Vec<Knee> = cell
        .values()
        .map(|measured| cells::knee_position(measured.record))
        .collect();
    let count = |which: Knee| places.iter().filter(|place| **place == which).count();
    let (beyond, at) = (count(Knee::Beyond), count(Knee::At));
    if beyond * 2 >= places.len() {
        Some(format!(
            "{}: offered rate not achieved in {beyond} of {} trials",
            name.0,
            places.len()
        ))
    } else if (beyond + at) * 2 >= places.len() {
        Some(format!(
            "the parts' cores were saturated in {at} of {} trials of {}",
            places.len(),
            name.0
        ))
    } else {
        None
    }
}

/// The plan as YAML.
fn plan_text(plan: &Plan) -> String {
    serde_saphyr::to_string(plan)
        .unwrap_or_else(|error| format!("the plan cannot be shown: {error}"))
}
