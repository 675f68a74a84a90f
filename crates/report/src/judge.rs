//! Measures → overheads: lays values out by block and lets the statistics judge them.

use tare_schema::metric::{Metric, Unit};
use tare_schema::plan::{Compare, NoiseFloor, Plan};
use tare_schema::view::{FailureView, Family as FamilyName, Interval, Noise, Outcome, Overhead};
use tare_stats::Latencies;
use tare_stats::outcome::{self as judged, Extent, MoreBlocks, NoVerdict};
use tare_stats::paired::{
    BaselineCopies, Comparison, Comparisons, Family, Question, Standing, Table, Trials as Went,
};
use tare_stats::power::{Design, detectable};

use crate::failures;
use crate::missing;
use crate::quantity::{self, Sign};
use crate::steps::steps;
use crate::trials::{CellName, Trials};

/// Why a metric with a lower bound among its values has no verdict.
pub const BOUNDED: &str = "unanswered exchanges reach into it";

/// Everything that was judged.
#[derive(Debug, Default)]
pub struct Judged {
    /// Overheads, level by level.
    pub overheads: Vec<Overhead>,
    /// Noise per level and metric.
    pub noise: Vec<Noise>,
    /// Comparisons in which exchanges failed. A step's are those of its arms against the baseline.
    pub failures: Vec<FailureView>,
}

/// Cells that are compared with one cell.
struct Group {
    base: CellName,
    copies: BaselineCopies,
    others: Vec<CellName>,
    /// Of `others`, those that are reported; the rest only helps to know the noise.
    reported: Vec<CellName>,
    family: FamilyName,
}

/// Judges every comparison that the plan declares.
pub fn judge(plan: &Plan, trials: &Trials<'_>) -> Judged {
    let mut judged = Judged::default();
    let groups = groups(plan, trials);
    let cells = |name: FamilyName| -> usize {
        groups
            .iter()
            .filter(|g| g.family == name)
            .map(|g| g.reported.len())
            .sum()
    };
    // Declared by the plan, whatever could be measured of it.
    let metrics = plan.primary.len();
    let primary = match plan.compare {
        Compare::Arms => Family::new(
            plan.arms.len().saturating_sub(1),
            plan.levels.len(),
            metrics,
        ),
        Compare::Levels => Family::new(
            plan.levels.len().saturating_sub(1),
            plan.arms.len(),
            metrics,
        ),
    };
    let step = Family::new(1, cells(FamilyName::Step), metrics);
    for group in &groups {
        if group.family == FamilyName::Primary {
            let reported = group.reported.iter();
            let failed =
                reported.filter_map(|cell| failures::compared(plan, trials, &group.base, cell));
            judged.failures.extend(failed);
        }
        for metric in Metric::ALL {
            let is_primary = plan.primary.contains(&metric);
            let family = match group.family {
                FamilyName::Step if !is_primary => continue,
                FamilyName::Step => &step,
                _ => &primary,
            };
            Judge {
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
    let copies_of = |arm: usize| match plan.noise_floor {
        NoiseFloor::Measured if arm == 0 => BaselineCopies::Two,
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
                    family: FamilyName::Primary,
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
                    family: FamilyName::Primary,
                });
            }
        }
    }
    groups
}

/// Each step at each level. The other arms stay in the table: they tell more of the noise of a block.
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
                family: FamilyName::Step,
            });
        }
    }
    groups
}

/// One metric of one group.
struct Judge<'a> {
    plan: &'a Plan,
    trials: &'a Trials<'a>,
    group: &'a Group,
    metric: Metric,
    family: &'a Family,
    is_primary: bool,
}

impl Judge<'_> {
    fn add_to(&self, judged: &mut Judged) {
        // What the baseline has none of (proxies) cannot be compared with it; asked for, that is said.
        if !self.is_primary && self.base_is_missing() {
            return;
        }
        let Some(table) = self.table() else { return };
        let went: Vec<Went> = std::iter::once(&self.group.base)
            .chain(&self.group.others)
            .map(|cell| self.went(cell))
            .collect();
        let question = Question {
            table: &table,
            standing: if self.is_primary {
                Standing::Primary
            } else {
                Standing::Descriptive
            },
            margin: self.margin(judged),
            resolution: match self.metric.unit() {
                Unit::Nanoseconds => Latencies::RESOLUTION,
                _ => 0.0,
            },
            trials: &went,
        };
        let comparisons = self.family.compare(&question);
        for comparison in &comparisons.arms {
            let cell = &self.group.others[comparison.arm];
            if self.group.reported.contains(cell) {
                judged
                    .overheads
                    .push(self.overhead(cell, comparison, &comparisons));
            }
        }
        if self.group.family == FamilyName::Primary {
            judged.noise.push(self.noise(&comparisons));
        }
    }

    /// The declared margin; for a step also the noise floor that the baseline showed at the level.
    fn margin(&self, judged: &Judged) -> Option<f64> {
        let declared = (self.plan.margin > 0.0).then_some(self.plan.margin);
        if self.group.family != FamilyName::Step {
            return declared;
        }
        let floor = judged
            .noise
            .iter()
            .find(|noise| noise.level == self.group.base.1 && noise.metric == self.metric)
            .and_then(|noise| noise.floor);
        match (declared, floor) {
            (Some(declared), Some(floor)) => Some(declared.max(floor)),
            (declared, floor) => declared.or(floor),
        }
    }

    fn table(&self) -> Option<Table> {
        let rows: Vec<Vec<Option<f64>>> = self
            .trials
            .blocks
            .iter()
            .map(|block| {
                let copies = self.group.copies.count() as u32;
                (0..copies)
                    .map(|copy| self.value(&self.group.base, *block, copy))
                    .chain(
                        self.group
                            .others
                            .iter()
                            .map(|cell| self.value(cell, *block, 0)),
                    )
                    .collect()
            })
            .collect();
        // Values are positive and rows are as wide as they are made: the table cannot be refused.
        Table::new(self.group.copies, self.group.others.len(), &rows).ok()
    }

    /// A value that may be compared; a lower bound may not, nor what too many failures left.
    fn value(&self, cell: &CellName, block: u32, copy: u32) -> Option<f64> {
        let failed = self.trials.failed.get(cell);
        if failed.is_some_and(|failed| failed.unjudged.contains(&self.metric)) {
            return None;
        }
        let figured = self
            .trials
            .cells
            .get(cell)?
            .get(&(block, copy))?
            .values
            .get(&self.metric)?;
        (!figured.at_least && figured.value > 0.0 && figured.value.is_finite())
            .then_some(figured.value)
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
                .any(|t| t.values.get(&self.metric).is_some_and(|f| f.at_least))
        })
    }

    fn went(&self, cell: &CellName) -> Went {
        self.trials
            .tries
            .get(cell)
            .map_or_else(Went::default, |tries| Went {
                planned: tries.planned,
                rerun_or_missing: tries.rerun_or_missing,
            })
    }

    fn overhead(&self, cell: &CellName, comparison: &Comparison, all: &Comparisons) -> Overhead {
        let ratio = comparison.ratio.map(|estimate| Interval {
            estimate,
            low: comparison.intervals.map(|intervals| intervals.deciding.low),
            high: comparison
                .intervals
                .map(|intervals| intervals.deciding.high),
        });
        let added = match (comparison.difference, all.baseline, comparison.ratio) {
            (Some(difference), _, _) => Some(Interval {
                estimate: difference.estimate,
                low: Some(difference.low),
                high: Some(difference.high),
            }),
            (None, Some(base), Some(ratio)) => Some(Interval {
                estimate: base * (ratio - 1.0),
                low: None,
                high: None,
            }),
            _ => None,
        };
        let outcome = self.outcome(cell, comparison);
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
                FamilyName::Descriptive
            },
            base: all.baseline,
            pairs: comparison.blocks as u32,
            margin: all.margin,
            added_text: added.map_or_else(missing, |i| quantity::difference(unit, &i, Sign::Shown)),
            ratio_text: ratio.map_or_else(missing, |i| quantity::change(&i, Sign::Shown)),
            outcome_text: outcome_text(&outcome, all.margin),
            added,
            ratio,
            outcome,
        }
    }

    fn outcome(&self, cell: &CellName, comparison: &Comparison) -> Outcome {
        if self.is_bounded(cell) || self.is_bounded(&self.group.base) {
            return Outcome::None {
                why: BOUNDED.into(),
            };
        }
        let base = &self.group.base;
        let there = match base.1 == cell.1 {
            true => format!(" in {}", base.0),
            false => format!(" at {}", base.1),
        };
        let failed = |cell: &CellName| self.trials.failed.get(cell);
        if let Some(why) = failures::why(self.metric, [(failed(cell), ""), (failed(base), &there)])
        {
            return Outcome::None { why };
        }
        let unknown = |cell: &CellName| {
            let trials = self.trials.cells.get(cell);
            trials.is_some_and(|t| t.values().all(|t| !t.values.contains_key(&self.metric)))
        };
        if unknown(cell) || unknown(&self.group.base) {
            return Outcome::None {
                why: missing::why(self.trials, [cell, &self.group.base], self.metric),
            };
        }
        match comparison.outcome {
            judged::Outcome::NoVerdict(NoVerdict::TooFewBlocks { complete }) => Outcome::None {
                why: too_few(complete),
            },
            judged::Outcome::NoVerdict(NoVerdict::TooManyReruns { share }) => Outcome::None {
                why: format!(
                    "{} of its trials were repeated or are missing",
                    quantity::percent(share)
                ),
            },
            _ if !self.is_primary => Outcome::Described,
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

    fn noise(&self, all: &Comparisons) -> Noise {
        let design = Design {
            blocks: self.trials.blocks.len(),
            copies: self.group.copies,
        };
        let finite = |value: Option<f64>| value.filter(|v| v.is_finite());
        Noise {
            level: self.group.base.1.clone(),
            metric: self.metric,
            floor: finite(all.noise_floor),
            residual: finite(all.noise),
            detectable: finite(
                all.noise
                    .and_then(|noise| detectable(noise, design, self.family)),
            ),
        }
    }
}

fn too_few(complete: usize) -> String {
    match complete {
        0 => "no complete pair".into(),
        1 => "only 1 complete pair; 3 are needed".into(),
        more => format!("only {more} complete pairs; 3 are needed"),
    }
}

/// An outcome in words.
pub fn outcome_text(outcome: &Outcome, margin: Option<f64>) -> String {
    let margin = margin.map(quantity::percent).unwrap_or_default();
    match outcome {
        Outcome::Differs {
            within_margin: false,
        } => "differs".into(),
        Outcome::Differs {
            within_margin: true,
        } => format!("differs, by less than {margin}"),
        Outcome::Same => format!("same within {margin}"),
        Outcome::Undecided {
            more_blocks: Some(more),
        } => {
            let blocks = quantity::counted(u64::from(*more), "more block", "more blocks");
            format!("undecided: {blocks} would tell")
        }
        Outcome::Undecided { more_blocks: None } => {
            "undecided: more blocks would hardly tell".into()
        }
        Outcome::Described => "not judged".into(),
        Outcome::None { why } => format!("no verdict: {why}"),
    }
}
