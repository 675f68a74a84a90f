//! Assertions of the experiment, evaluated on the intervals of the run.

use tare_record::metric::Metric;
use tare_record::plan::{Assertion, AssertionSubject, Compare, Plan};
use tare_record::view::{
    AssertionOutcome, AssertionView, Family, Interval, Outcome, Overhead, Table, TableCell,
};
use tare_stats::stopping::mean_interval;

use crate::failures;
use crate::judge::BOUNDED;
use crate::quantity::{self, Sign};
use crate::tables::{TableInputs, name, text, words};
use crate::trials::{CellName, Trials};

/// Heading of the section on the page.
pub const SECTION: &str = "Assertions";

/// The outcome of an assertion in one cell, with its figure.
type Judgement = (AssertionOutcome, String);

/// Evaluates every assertion of the plan.
pub fn judge(plan: &Plan, trials: &Trials<'_>, overheads: &[Overhead]) -> Vec<AssertionView> {
    let assertions = plan.assertions.iter();
    assertions
        .map(|assertion| {
            let judge = AssertionJudge {
                plan,
                trials,
                overheads,
                assertion,
            };
            let (outcome, reason) = judge.over_all_cells();
            AssertionView {
                text: assertion.text.clone(),
                outcome,
                reason,
            }
        })
        .collect()
}

/// The assertions with their outcomes.
pub fn table(source: &TableInputs<'_>) -> Vec<Table> {
    let table = Table::new("assertion-outcomes", SECTION, "assertions")
        .note("Judged by the interval: passed or failed where the whole interval lies on one side of the limit, else undecided.")
        .fill(
            &source.view.assertions,
            [
                name("assertion", |one| text(&one.text)),
                name("outcome", |one| {
                    let failed = one.outcome == AssertionOutcome::Failed;
                    TableCell::from(one.outcome.word()).marked(failed)
                }),
                words("reason", |one| text(&one.reason)),
            ],
        );
    vec![table]
}

struct AssertionJudge<'a> {
    plan: &'a Plan,
    trials: &'a Trials<'a>,
    overheads: &'a [Overhead],
    assertion: &'a Assertion,
}

impl AssertionJudge<'_> {
    /// The worst outcome over its cells; of equals the first.
    fn over_all_cells(&self) -> Judgement {
        let cells = self.cells();
        let mut worst: Option<Judgement> = None;
        for cell in &cells {
            let (outcome, figure) = self.cell(cell);
            if worst.as_ref().is_none_or(|(known, _)| *known < outcome) {
                worst = Some((outcome, format!("{} at {}: {figure}", cell.0, cell.1)));
            }
        }
        match worst {
            Some((AssertionOutcome::Passed, _)) if cells.len() > 1 => (
                AssertionOutcome::Passed,
                format!("in all {} cells", cells.len()),
            ),
            Some(found) => found,
            None => undecided("nothing that it is about was run here"),
        }
    }

    fn cells(&self) -> Vec<CellName> {
        let is = |asked: &Option<String>, name: &str| asked.as_ref().is_none_or(|one| one == name);
        let adds = matches!(
            self.assertion.of,
            AssertionSubject::Added(_) | AssertionSubject::AddedShare(_)
        );
        let was_run = |arm: &str| self.trials.cells.keys().any(|(name, _)| name == arm);
        let cells = self.plan.cells.iter();
        cells
            .filter(|cell| is(&self.assertion.arm, &cell.arm) && was_run(&cell.arm))
            .filter(|cell| is(&self.assertion.level, &cell.level))
            .filter(|cell| !(adds && self.is_compared_with(&cell.arm, &cell.level)))
            .map(|cell| (cell.arm.clone(), cell.level.clone()))
            .collect()
    }

    /// Whether others are compared with this cell.
    fn is_compared_with(&self, arm: &str, level: &str) -> bool {
        match self.plan.compare {
            Compare::Arms => self.plan.arms.first().is_some_and(|one| one.name == arm),
            Compare::Levels => self
                .plan
                .levels
                .first()
                .is_some_and(|one| one.name == level),
        }
    }

    fn cell(&self, cell: &CellName) -> Judgement {
        match self.assertion.of {
            AssertionSubject::Value(metric) => self.value(cell, metric),
            AssertionSubject::Added(metric) => {
                self.added(cell, metric, |one| (one.added, one.added_text.clone(), 0.0))
            }
            AssertionSubject::AddedShare(metric) => {
                self.added(cell, metric, |one| (one.ratio, one.ratio_text.clone(), 1.0))
            }
            AssertionSubject::Errors => match failures::errors(self.trials, cell) {
                Some(share) => self.judge_interval(&share, quantity::share(&share)),
                None => undecided("there were no exchanges"),
            },
        }
    }

    /// The metric itself, with the unadjusted 95 % interval of its geometric mean over the blocks.
    fn value(&self, cell: &CellName, metric: Metric) -> Judgement {
        if let Some(reason) =
            failures::reason(metric, [(self.trials.failed.get(cell), ""), (None, "")])
        {
            return undecided(reason);
        }
        let measured = self.trials.cells.get(cell).into_iter().flatten();
        let own = measured.filter(|((_, copy), _)| *copy == 0);
        let figured: Vec<_> = own.filter_map(|(_, m)| m.values.get(&metric)).collect();
        let values: Vec<f64> = figured.iter().map(|figured| figured.value).collect();
        let Some((mean, ends)) = mean_interval(&values) else {
            let blocks = quantity::counted(values.len() as u64, "block has", "blocks have");
            return undecided(format!("{blocks} a value of it; 3 are needed"));
        };
        let interval = quantity::interval(mean, Some((mean * ends.low, mean * ends.high)));
        let text = quantity::difference(metric.unit(), &interval, Sign::Spoken);
        let (outcome, text) = self.judge_interval(&interval, text);
        match figured.iter().any(|figured| figured.is_lower_bound) {
            // The values are lower bounds: only a value above the limit is certain.
            true if (outcome == AssertionOutcome::Failed)
                == self.assertion.comparison.wants_more() =>
            {
                undecided(BOUNDED)
            }
            true if outcome == AssertionOutcome::Undecided => undecided(BOUNDED),
            true => (outcome, format!("more than {text}")),
            false => (outcome, text),
        }
    }

    /// The overhead, with the interval of its verdict. `of` gives interval, text, and the value that means no difference.
    fn added(
        &self,
        cell: &CellName,
        metric: Metric,
        of: fn(&Overhead) -> (Option<Interval>, String, f64),
    ) -> Judgement {
        let found = self.overheads.iter().find(|one| {
            (&one.arm, &one.level, one.metric) == (&cell.0, &cell.1, metric)
                && one.family != Family::Step
        });
        let Some(overhead) = found else {
            return undecided("the baseline has none of it");
        };
        if let Outcome::None { reason } = &overhead.outcome {
            return undecided(reason.as_str());
        }
        let (interval, text, none) = of(overhead);
        match interval {
            Some(interval) => self.judge_interval(
                &Interval {
                    estimate: interval.estimate - none,
                    low: interval.low.map(|low| low - none),
                    high: interval.high.map(|high| high - none),
                },
                text,
            ),
            None => undecided("it was not measured"),
        }
    }

    /// Compares the whole interval with the limit, not only the estimate.
    fn judge_interval(&self, interval: &Interval, text: String) -> Judgement {
        let Assertion {
            comparison, limit, ..
        } = self.assertion;
        let holds = |value| comparison.holds(value, *limit);
        let outcome = match (interval.low.map(holds), interval.high.map(holds)) {
            (Some(true), Some(true)) => AssertionOutcome::Passed,
            (Some(false), Some(false)) => AssertionOutcome::Failed,
            _ => AssertionOutcome::Undecided,
        };
        (outcome, text)
    }
}

fn undecided(reason: impl Into<String>) -> Judgement {
    (AssertionOutcome::Undecided, reason.into())
}
