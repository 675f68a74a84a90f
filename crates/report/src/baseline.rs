//! A/A check: the baseline measured twice in every block. A difference between the copies is an error of the machine or the
//! generator.

use tare_record::plan::Plan;
use tare_record::view::{BaselineCheck, BaselineDifference};
use tare_stats::outcome::{Extent, Outcome};
use tare_stats::paired::{
    BaselineCopies, ComparisonFamily, ComparisonInput, MetricRole, PairedTable,
};

use crate::judge::{margin, ratio_interval, resolution, value};
use crate::quantity::{self, Sign};
use crate::trials::Trials;

/// Compares the two copies at every level in every primary metric, with simultaneous intervals. `None` without a second copy,
/// or with too few blocks.
pub fn check(plan: &Plan, trials: &Trials<'_>) -> Option<BaselineCheck> {
    let arm = plan.arms.first()?;
    if !plan.aa_check {
        return None;
    }
    let family = ComparisonFamily::new(1, plan.levels.len(), plan.primary.len());
    let mut check = BaselineCheck::default();
    for level in &plan.levels {
        let cell = (arm.name.clone(), level.name.clone());
        for metric in plan.primary.iter().copied() {
            let copy = |block, copy| value(trials, &cell, (block, copy), metric);
            let blocks = trials.blocks.iter();
            let rows: Vec<_> = blocks.map(|b| vec![copy(*b, 0), copy(*b, 1)]).collect();
            // Cannot fail: values are positive and all rows have two columns.
            let Ok(table) = PairedTable::new(BaselineCopies::One, 1, &rows) else {
                continue;
            };
            let found = family.compare(&ComparisonInput {
                table: &table,
                role: MetricRole::Primary,
                margin: margin(plan, metric),
                resolution: resolution(metric),
            });
            let Some((one, intervals)) = found.arms.first().and_then(|c| Some((c, c.intervals?)))
            else {
                continue;
            };
            check.comparisons += 1;
            let ratio = ratio_interval(one.ratio, Some(intervals.decision));
            if let (Outcome::Differs { extent, .. }, Some(ratio)) = (one.outcome, ratio) {
                check.differences.push(BaselineDifference {
                    arm: arm.name.clone(),
                    level: level.name.clone(),
                    metric,
                    ratio,
                    ratio_text: quantity::change(&ratio, Sign::Shown),
                    passes_margin: extent == Extent::MayExceedMargin,
                });
            }
        }
    }
    (check.comparisons > 0).then_some(check)
}
