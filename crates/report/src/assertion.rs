//! Assertions of the experiment, held against the intervals of the run.

use tare_schema::metric::Metric;
use tare_schema::plan::{Asserted, Assertion, Compare, Plan};
use tare_schema::view::{AssertionOutcome, AssertionView, Family, Interval, Outcome, Overhead};
use tare_stats::enough::level;

use crate::failures;
use crate::judge::BOUNDED;
use crate::quantity::{self, Sign};
use crate::trials::{CellName, Trials};

/// What one cell says of an assertion, and its figure.
type Found = (AssertionOutcome, String);

/// Every assertion of the plan.
pub fn judge(plan: &Plan, trials: &Trials<'_>, overheads: &[Overhead]) -> Vec<AssertionView> {
    let assertions = plan.assertions.iter();
    assertions
        .map(|assertion| {
            let judge = Judge {
                plan,
                trials,
                overheads,
                assertion,
            };
            let (outcome, because) = judge.over_all_cells();
            AssertionView {
                text: assertion.text.clone(),
                outcome,
                because,
            }
        })
        .collect()
}

struct Judge<'a> {
    plan: &'a Plan,
    trials: &'a Trials<'a>,
    overheads: &'a [Overhead],
    assertion: &'a Assertion,
}

impl Judge<'_> {
    /// The worst of all cells that it is about; of several alike the first.
    fn over_all_cells(&self) -> Found {
        let cells = self.cells();
        let mut worst: Option<Found> = None;
        for cell in &cells {
            let (outcome, figure) = self.cell(cell);
            if worst.as_ref().is_none_or(|(known, _)| *known < outcome) {
                worst = Some((outcome, format!("{} at {}: {figure}", cell.0, cell.1)));
            }
        }
        match worst {
            Some((AssertionOutcome::Holds, _)) if cells.len() > 1 => (
                AssertionOutcome::Holds,
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
            Asserted::Added(_) | Asserted::AddedShare(_)
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

    /// Whether a cell is what others are compared with.
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

    fn cell(&self, cell: &CellName) -> Found {
        match self.assertion.of {
            Asserted::Value(metric) => self.value(cell, metric),
            Asserted::Added(metric) => {
                self.added(cell, metric, |one| (one.added, one.added_text.clone(), 0.0))
            }
            Asserted::AddedShare(metric) => {
                self.added(cell, metric, |one| (one.ratio, one.ratio_text.clone(), 1.0))
            }
            Asserted::Errors => match failures::errors(self.trials, cell) {
                Some(share) => self.held(&share, quantity::share(&share)),
                None => undecided("there were no exchanges"),
            },
        }
    }

    /// The metric itself, with the plain 95 % interval of its geometric mean over the blocks.
    fn value(&self, cell: &CellName, metric: Metric) -> Found {
        if let Some(why) = failures::why(metric, [(self.trials.failed.get(cell), ""), (None, "")]) {
            return undecided(why);
        }
        let measured = self.trials.cells.get(cell).into_iter().flatten();
        let own = measured.filter(|((_, copy), _)| *copy == 0);
        let figured: Vec<_> = own.filter_map(|(_, m)| m.values.get(&metric)).collect();
        let values: Vec<f64> = figured.iter().map(|figured| figured.value).collect();
        let Some((mean, ends)) = level(&values) else {
            let blocks = quantity::counted(values.len() as u64, "block has", "blocks have");
            return undecided(format!("{blocks} a value of it; 3 are needed"));
        };
        let interval = Interval {
            estimate: mean,
            low: Some(mean * ends.low),
            high: Some(mean * ends.high),
        };
        let text = quantity::difference(metric.unit(), &interval, Sign::Spoken);
        let (outcome, text) = self.held(&interval, text);
        match figured.iter().any(|figured| figured.at_least) {
            // The true values lie higher: that only confirms what is above already.
            true if (outcome == AssertionOutcome::Broken)
                == self.assertion.comparison.wants_more() =>
            {
                undecided(BOUNDED)
            }
            true if outcome == AssertionOutcome::Undecided => undecided(BOUNDED),
            true => (outcome, format!("more than {text}")),
            false => (outcome, text),
        }
    }

    /// What is added, with the interval of its verdict; `none` is what no difference would be.
    fn added(
        &self,
        cell: &CellName,
        metric: Metric,
        of: fn(&Overhead) -> (Option<Interval>, String, f64),
    ) -> Found {
        let found = self.overheads.iter().find(|one| {
            (&one.arm, &one.level, one.metric) == (&cell.0, &cell.1, metric)
                && one.family != Family::Step
        });
        let Some(overhead) = found else {
            return undecided("the baseline has none of it");
        };
        if let Outcome::None { why } = &overhead.outcome {
            return undecided(why.as_str());
        }
        let (interval, text, none) = of(overhead);
        match interval {
            Some(interval) => self.held(
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

    /// The whole interval decides, not the estimate.
    fn held(&self, interval: &Interval, text: String) -> Found {
        let Assertion {
            comparison, limit, ..
        } = self.assertion;
        let holds = |value| comparison.holds(value, *limit);
        let outcome = match (interval.low.map(holds), interval.high.map(holds)) {
            (Some(true), Some(true)) => AssertionOutcome::Holds,
            (Some(false), Some(false)) => AssertionOutcome::Broken,
            _ => AssertionOutcome::Undecided,
        };
        (outcome, text)
    }
}

fn undecided(why: impl Into<String>) -> Found {
    (AssertionOutcome::Undecided, why.into())
}
