//! The smallest difference that a plan can detect, from the noise of the last run of the same experiment.

use std::path::{Path, PathBuf};

use tare_record::metric::Metric;
use tare_record::plan::{Compare, Plan};
use tare_record::view::Noise;
use tare_stats::paired::{BaselineCopies, ComparisonFamily};
use tare_stats::power::{Design, detectable};

use crate::runs;

/// Most run folders that are examined, newest first.
const FOLDERS_MAX: usize = 50;

/// The smallest detectable relative difference at a level.
#[derive(Debug, Clone, PartialEq)]
pub struct Detectable {
    /// Level.
    pub level: String,
    /// Metric.
    pub metric: Metric,
    /// 0.03 = 3 %; `None` when the noise is not known or there are too few blocks.
    pub relative: Option<f64>,
}

/// The detectable differences by the noise of an earlier run.
#[derive(Debug, Clone, PartialEq)]
pub enum Earlier {
    /// No earlier run of this experiment has enough blocks.
    None,
    /// There is such a run.
    Run {
        /// Its folder.
        folder: PathBuf,
        /// The detectable differences of this plan with that run's noise.
        detectable: Vec<Detectable>,
    },
}

/// Finds the last run of the same experiment and applies its noise to this plan.
pub fn earlier(out: &Path, plan: &Plan) -> Earlier {
    for folder in runs::known(out).into_iter().rev().take(FOLDERS_MAX) {
        let Ok(run) = tare_report::read(&folder) else {
            continue;
        };
        if run.plan.experiment != plan.experiment {
            continue;
        }
        let found = detectable_with(plan, &tare_report::view(&run).noise);
        if found.iter().any(|found| found.relative.is_some()) {
            return Earlier::Run {
                folder,
                detectable: found,
            };
        }
    }
    Earlier::None
}

/// The detectable differences of a plan with this noise, for every level and primary metric with known noise.
pub fn detectable_with(plan: &Plan, noise: &[Noise]) -> Vec<Detectable> {
    let arms = plan.arms.iter();
    let arms = arms.filter(|arm| arm.requires.is_none()).count();
    let (compared, tables) = match plan.compare {
        Compare::Arms => (arms.saturating_sub(1), plan.levels.len()),
        Compare::Levels => (plan.levels.len().saturating_sub(1), arms),
    };
    let family = ComparisonFamily::new(compared, tables, plan.primary.len());
    let design = Design {
        blocks: plan.blocks.max as usize,
        copies: match plan.aa_check {
            true => BaselineCopies::Two,
            false => BaselineCopies::One,
        },
    };
    noise
        .iter()
        .filter(|noise| plan.primary.contains(&noise.metric))
        .filter(|noise| plan.levels.iter().any(|level| level.name == noise.level))
        .map(|noise| Detectable {
            level: noise.level.clone(),
            metric: noise.metric,
            relative: noise
                .residual
                .and_then(|residual| detectable(residual, design, &family)),
        })
        .collect()
}
