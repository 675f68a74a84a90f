//! Comparison of two runs of one experiment, with everything that differs between them.

mod differences;
mod text;

use serde::Serialize;
use tare_record::metric::{Metric, Unit};
use tare_record::plan::Plan;
use tare_record::view::{FailedShare, Family, Interval, Outcome, Sentence, SentenceKind, View};
use tare_stats::unpaired;

use crate::failures;
use crate::judge::{
    BOUNDED, difference_interval, margin, margin_text, outcome_text, ratio_interval, repeats,
    resolution, view_outcome,
};
use crate::quantity::{self, Sign};
use crate::read::Run;
use crate::tables::{cell_at, figure_text};
use crate::trials::{Trials, trials};
use crate::verdict::failure_sentence;

pub use differences::all as differences;
pub use text::{markdown, terminal};

/// What to do with runs that are not comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMismatch {
    Refuse,
    /// Compare, and list what differs.
    Compare,
}

/// Why two runs are not compared.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CompareError {
    #[error("the runs are not comparable: {}; with --force they are compared all the same, and the differences are yours to explain", .0.join("; "))]
    NotComparable(Vec<String>),
    /// They have no cell in common.
    #[error("the runs have no arm and level in common: compare runs of one experiment")]
    Nothing,
}

/// The comparison of two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// Format version.
    pub version: u32,
    /// The reference.
    pub before: RunName,
    /// The other run.
    pub after: RunName,
    /// Findings, then warnings and notes.
    pub verdict: Vec<Sentence>,
    /// Differences between the two runs, as text.
    pub changed: Vec<String>,
    /// Every metric of every cell that both have.
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunName {
    /// Folder name.
    pub id: String,
    /// Start, RFC 3339.
    pub started: String,
    /// Number of complete blocks.
    pub blocks: u32,
}

/// One metric of one cell in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub level: String,
    pub arm: String,
    pub metric: Metric,
    pub unit: Unit,
    /// Primary or descriptive.
    pub family: Family,
    /// Figure of the reference, as text.
    pub before: String,
    /// Figure of the other run, as text.
    pub after: String,
    /// Ratio of the two.
    pub ratio: Option<Interval>,
    /// Difference in the metric's unit.
    pub added: Option<Interval>,
    pub outcome: Outcome,
    pub ratio_text: String,
    pub outcome_text: String,
}

/// Compares two runs.
///
/// # Errors
/// When they are not comparable and `on_mismatch` says to refuse, or have no cell in common.
pub fn compare(
    before: &Run,
    after: &Run,
    on_mismatch: OnMismatch,
) -> Result<RunComparison, CompareError> {
    let against = differences::blocking(before, after);
    if on_mismatch == OnMismatch::Refuse && !against.is_empty() {
        return Err(CompareError::NotComparable(against));
    }
    let views = (crate::view(before), crate::view(after));
    let measured = (trials(before), trials(after));
    let cells = shared(&before.plan, &after.plan);
    if cells.is_empty() {
        return Err(CompareError::Nothing);
    }
    let judge = RunJudge {
        plan: &before.plan,
        family: cells.len() * before.plan.primary.len(),
        views: (&views.0, &views.1),
        measured: (&measured.0, &measured.1),
    };
    let rows: Vec<Row> = cells
        .iter()
        .flat_map(|cell| {
            Metric::ALL
                .iter()
                .filter_map(|metric| judge.row(cell, *metric))
        })
        .collect();
    let changed = differences(before, after);
    let mut failed = failed(&judge, &cells);
    failed.extend(repeated(judge.measured, &cells));
    let verdict = verdict(&rows, &views, &changed, failed);
    Ok(RunComparison {
        version: tare_record::FORMAT_VERSION,
        before: name(&views.0),
        after: name(&views.1),
        verdict,
        changed,
        rows,
    })
}

fn name(view: &View) -> RunName {
    let run = &view.run;
    RunName {
        id: run.id.clone(),
        started: run.started.clone(),
        blocks: run.blocks_complete,
    }
}

/// Arms × levels that both plans have, in the order of the first: level, arm.
fn shared(before: &Plan, after: &Plan) -> Vec<(String, String)> {
    let has = |arm: &str, level: &str| after.cells.iter().any(|c| c.arm == arm && c.level == level);
    let mut cells = Vec::new();
    for level in &before.levels {
        for arm in &before.arms {
            if has(&arm.name, &level.name) {
                cells.push((arm.name.clone(), level.name.clone()));
            }
        }
    }
    cells
}

struct RunJudge<'a> {
    plan: &'a Plan,
    family: usize,
    views: (&'a View, &'a View),
    measured: (&'a Trials<'a>, &'a Trials<'a>),
}

impl RunJudge<'_> {
    fn row(&self, cell: &(String, String), metric: Metric) -> Option<Row> {
        let before = values(self.measured.0, cell, metric);
        let after = values(self.measured.1, cell, metric);
        if before.is_empty() && after.is_empty() {
            return None;
        }
        let is_bounded = before.is_bounded || after.is_bounded;
        let [failed_before, failed_after] = self.failed(cell);
        let failed = failures::reason(
            metric,
            [
                (failed_after, " in the run after"),
                (failed_before, " in the run before"),
            ],
        );
        // The remaining blocks or answers are biased towards good values: no ratio.
        let has_verdict = !is_bounded && failed.is_none();
        let is_primary = self.plan.primary.contains(&metric);
        let input = unpaired::UnpairedInput {
            before: &before.exact,
            after: &after.exact,
            family: if is_primary { self.family } else { 1 },
            margin: margin(self.plan, metric),
            resolution: resolution(metric),
        };
        let found = unpaired::compare(&input).ok()?;
        let ratio = ratio_interval(found.ratio.filter(|_| has_verdict), found.decision);
        let added = found.difference.filter(|_| has_verdict);
        let outcome = match failed {
            _ if is_bounded => Outcome::None {
                reason: BOUNDED.into(),
            },
            Some(reason) => Outcome::None { reason },
            None => view_outcome(found.outcome, is_primary, too_few),
        };
        Some(Row {
            level: cell.1.clone(),
            arm: cell.0.clone(),
            metric,
            unit: metric.unit(),
            family: if is_primary {
                Family::Primary
            } else {
                Family::Descriptive
            },
            before: figure(self.views.0, cell, metric),
            after: figure(self.views.1, cell, metric),
            ratio_text: ratio.map_or_else(
                || quantity::MISSING.into(),
                |ratio| quantity::change(&ratio, Sign::Shown),
            ),
            outcome_text: outcome_text(&outcome, &margin_text(self.plan, metric, found.before)),
            ratio,
            added: added.map(difference_interval),
            outcome,
        })
    }

    /// Failures of a cell, before and after.
    fn failed(&self, cell: &(String, String)) -> [Option<&FailedShare>; 2] {
        [self.measured.0, self.measured.1].map(|trials| trials.failed.get(cell))
    }
}

/// Values of a cell, one per block.
#[derive(Debug, Default)]
struct Values {
    /// Exact values.
    exact: Vec<f64>,
    /// Whether any value is a lower bound: there is then no verdict.
    is_bounded: bool,
}

impl Values {
    fn is_empty(&self) -> bool {
        self.exact.is_empty() && !self.is_bounded
    }
}

fn values(trials: &Trials<'_>, cell: &(String, String), metric: Metric) -> Values {
    let mut values = Values::default();
    let measured = trials.cells.get(cell).into_iter().flatten();
    for (_, measured) in measured.filter(|((_, copy), _)| *copy == 0) {
        match measured.values.get(&metric) {
            Some(figured) if figured.is_lower_bound => values.is_bounded = true,
            Some(figured) if figured.value > 0.0 && figured.value.is_finite() => {
                values.exact.push(figured.value);
            }
            _ => {}
        }
    }
    values
}

fn figure(view: &View, cell: &(String, String), metric: Metric) -> String {
    let found = cell_at(view, &cell.1, &cell.0);
    found
        .map_or(quantity::MISSING, |cell| figure_text(cell, metric))
        .into()
}

fn too_few(complete: usize) -> String {
    let blocks = quantity::counted(complete as u64, "block", "blocks");
    format!("only {blocks} in one of the runs; 3 are needed")
}

/// Warnings on cells with far more repeated trials in one run than in the other.
fn repeated(
    (before, after): (&Trials<'_>, &Trials<'_>),
    cells: &[(String, String)],
) -> Vec<(SentenceKind, String)> {
    let sentence = |cell: &(String, String)| {
        let of = |trials: &Trials<'_>| trials.attempts.get(cell).copied().unwrap_or_default();
        let names = [
            format!("{} at {}", cell.0, cell.1),
            "the run before".to_owned(),
        ];
        repeats([of(after), of(before)], &names)
    };
    let sentences = cells.iter().filter_map(sentence);
    sentences
        .map(|text| (SentenceKind::Warning, text))
        .collect()
}

/// Failures of cells: a finding if they leave a metric without a verdict, a warning if they differ between the runs.
fn failed(judge: &RunJudge<'_>, cells: &[(String, String)]) -> Vec<(SentenceKind, String)> {
    let mut texts = Vec::new();
    for cell in cells {
        let [Some(before), Some(after)] = judge.failed(cell) else {
            continue;
        };
        let no_verdict = failures::no_verdict(judge.plan.primary.clone(), [before, after]);
        let kind = match no_verdict.is_empty() {
            true if before.share == after.share => continue,
            true => SentenceKind::Warning,
            false => SentenceKind::Finding,
        };
        let what = format!("{} at {}", cell.0, cell.1);
        let there = (before, "in the run before");
        let text = failure_sentence(&what, after, there, None, &no_verdict);
        texts.push((kind, text));
    }
    texts
}

/// Upper limit of differences in sentences; the table has all.
const DIFFERENCES_LISTED: usize = 6;

fn verdict(
    rows: &[Row],
    views: &(View, View),
    changed: &[String],
    failed: Vec<(SentenceKind, String)>,
) -> Vec<Sentence> {
    let primary: Vec<&Row> = rows
        .iter()
        .filter(|row| row.family == Family::Primary)
        .collect();
    let of = |test: fn(&Outcome) -> bool| primary.iter().filter(|row| test(&row.outcome)).count();
    let differing: Vec<&&Row> = primary
        .iter()
        .filter(|row| matches!(row.outcome, Outcome::Differs { .. }))
        .collect();
    let mut texts = Vec::new();
    texts.push((
        SentenceKind::Finding,
        format!(
            "Of {} primary figures, {} differ between the runs, {} change by less than the margin, {} are undecided and {} have no verdict.",
            primary.len(),
            differing.len(),
            of(|o| matches!(o, Outcome::Same)),
            of(|o| matches!(o, Outcome::Undecided { .. })),
            of(|o| matches!(o, Outcome::None { .. })),
        ),
    ));
    texts.extend(failed);
    for row in differing.iter().take(DIFFERENCES_LISTED) {
        texts.push((
            SentenceKind::Finding,
            format!(
                "{} at {}: {} went from {} to {}, {}.",
                row.arm,
                row.level,
                row.metric.label(),
                row.before,
                row.after,
                row.ratio_text
            ),
        ));
    }
    if differing.len() > DIFFERENCES_LISTED {
        let rest = differing.len() - DIFFERENCES_LISTED;
        texts.push((
            SentenceKind::Finding,
            format!("{rest} more differ: see the table."),
        ));
    }
    for change in changed {
        texts.push((
            SentenceKind::Warning,
            format!("Not the same in both runs: {change}."),
        ));
    }
    for view in [&views.0, &views.1] {
        let doubts = view
            .verdict
            .iter()
            .filter(|s| s.kind == SentenceKind::Warning)
            .count();
        if doubts > 0 {
            let warnings = quantity::counted(doubts as u64, "warning", "warnings");
            texts.push((
                SentenceKind::Warning,
                format!(
                    "{} has {warnings} of its own: read its report.",
                    view.run.id
                ),
            ));
        }
    }
    texts.push((
        SentenceKind::Note,
        "The intervals hold the scatter between the blocks of each run. They do not hold what changes from run to run: boot, \
         placement in memory, temperature, neighbours on the machine. Only more runs of each show that."
            .to_string(),
    ));
    texts
        .into_iter()
        .map(|(kind, text)| Sentence { kind, text })
        .collect()
}
